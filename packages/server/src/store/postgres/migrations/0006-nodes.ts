/**
 * Makes the table of the servers that use the database. Its rows have no MACs: they grant nothing, and what they say is shown to people. A node's epoch is
 * higher than that of every earlier one. Design: §14
 */
export const NODES = {
	name: "0006-nodes",
	sql: `
CREATE TABLE node (
  id text COLLATE "C" PRIMARY KEY,
  epoch bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  seen_at timestamptz NOT NULL
);
`,
};
