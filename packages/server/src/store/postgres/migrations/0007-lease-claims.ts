/**
 * Makes the table of the leases that a server is revoking, for servers that share the database. Its rows have no MACs: a claim delays a revocation by the
 * time of one claim at most. Design: §14
 */
export const LEASE_CLAIMS = {
	name: "0007-lease-claims",
	sql: `
CREATE TABLE lease_claim (
  lease_id text COLLATE "C" PRIMARY KEY,
  node_id text COLLATE "C" NOT NULL,
  until timestamptz NOT NULL
);
`,
};
