/** Adds indexes for the limits on an account's rows: its tokens are counted, and expired ones found, by their end. Design: §13. */
export const ROW_LIMITS = {
	name: "0009-row-limits",
	sql: `
DROP INDEX api_token_by_user;
CREATE INDEX api_token_by_user ON api_token (user_id, expires_at);
CREATE INDEX api_token_by_end ON api_token (expires_at) WHERE expires_at IS NOT NULL;
`,
};
