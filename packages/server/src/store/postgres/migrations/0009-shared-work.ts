/**
 * Makes the tables of the work that one server does for all that share the database, and of the alterations that a server has found, for the others. Their
 * rows have no MACs: they grant nothing. Work that is done twice does no harm. A row of `alteration` makes servers refuse; without it, each still checks the database itself.
 * Design: §14
 */
export const SHARED_WORK = {
	name: "0009-shared-work",
	sql: `
CREATE TABLE duty (
  name text COLLATE "C" PRIMARY KEY,
  node_id text COLLATE "C" NOT NULL
);
CREATE TABLE alteration (
  node_id text COLLATE "C" NOT NULL,
  found text COLLATE "C" NOT NULL,
  PRIMARY KEY (node_id, found)
);
`,
};
