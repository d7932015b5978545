/** Finds the events of an environment in their order, and those that name two, which are few. Design: §15 */
export const AUDIT_ENVIRONMENTS = {
	name: "0014-audit-environments",
	sql: `
CREATE INDEX audit_event_by_environment ON audit_event (environment, seq) WHERE environment IS NOT NULL;
CREATE INDEX audit_event_of_two_environments ON audit_event (seq) WHERE strpos(data, '_environment":"') > 0;
`,
};
