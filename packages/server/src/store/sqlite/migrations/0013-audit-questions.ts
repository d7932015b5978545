/** Finds events by their time, by the token that caused them, and by the key of a secret: nobody waits for a look at the whole log. Design: §15. */
export const AUDIT_QUESTIONS = {
	name: "0013-audit-questions",
	sql: `
CREATE INDEX audit_event_by_time ON audit_event (timestamp);

CREATE INDEX audit_event_by_token ON audit_event (iif(json_valid(data), data ->> '$.token_id', NULL))
  WHERE iif(json_valid(data), data ->> '$.token_id', NULL) IS NOT NULL;

CREATE INDEX audit_event_by_key ON audit_event (iif(json_valid(data), data ->> '$.key', NULL), realm)
  WHERE iif(json_valid(data), data ->> '$.key', NULL) IS NOT NULL;
`,
};
