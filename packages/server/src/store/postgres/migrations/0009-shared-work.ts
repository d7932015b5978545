/**
 * Makes the table of the work that one server does for all that share the database. Its rows have no MACs: they grant nothing, and each work may be done
 * twice. Design: §14
 */
export const SHARED_WORK = {
	name: "0009-shared-work",
	sql: `
CREATE TABLE duty (
  name text COLLATE "C" PRIMARY KEY,
  node_id text COLLATE "C" NOT NULL
);
`,
};
