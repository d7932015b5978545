/** Makes the table of the sources of reusable JWTs. Its rows have no MACs: `shared-tables.ts` has the reason. ADR 18 */
export const JWT_SOURCES = {
	name: "0011-jwt-sources",
	sql: `
CREATE TABLE jwt_source (
  digest bytea PRIMARY KEY,
  payer text COLLATE "C" NOT NULL,
  first_ip text COLLATE "C" NOT NULL,
  sources text[] COLLATE "C" NOT NULL,
  used_at timestamptz NOT NULL
);
`,
};
