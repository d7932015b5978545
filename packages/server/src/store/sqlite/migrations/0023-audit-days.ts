/** Counts a realm's denials without a look at its other events, and finds who verified the log last. Both indexes have few entries. Design: §16 */
export const AUDIT_DAYS = {
	name: "0023-audit-days",
	sql: `
CREATE INDEX audit_event_denied ON audit_event (realm_id) WHERE type = 'access.denied';
CREATE INDEX audit_event_verified ON audit_event (type) WHERE type = 'audit.verified';
`,
};
