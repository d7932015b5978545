/** Finds invitations by the digest of their code, and those of an address in the order in which they were made. Design: §15 */
export const INVITATIONS = {
	name: "0022-invitations",
	sql: `
CREATE UNIQUE INDEX invitation_by_digest ON invitation (digest);
DROP INDEX invitation_by_email;
CREATE INDEX invitation_by_email ON invitation (email, created_at);
`,
};
