/** Makes the table of the callers whose events count while the database has little room. Its rows have no MACs: `shared-tables.ts` has the reason. ADR 18 */
export const BUSY_CALLERS = {
	name: "0012-busy-callers",
	sql: `
CREATE TABLE busy_caller (
  name text COLLATE "C" PRIMARY KEY,
  times float8[] NOT NULL,
  scale float8 NOT NULL,
  ends_at bigint NOT NULL
);
CREATE INDEX busy_caller_by_end ON busy_caller (ends_at);
`,
};
