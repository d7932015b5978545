/** Keeps the trusts of machines, and the JWTs that were used once. Design: §15. */
export const TRUSTS = {
	name: "0018-trusts",
	sql: `
CREATE TABLE trust (
  id TEXT PRIMARY KEY,
  machine_id TEXT NOT NULL REFERENCES machine (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('github', 'gitlab', 'kubernetes', 'oidc')),
  issuer TEXT,
  trust_domain TEXT,
  audience TEXT NOT NULL,
  claims TEXT NOT NULL,
  max_ttl_ms INTEGER NOT NULL,
  single_use INTEGER NOT NULL CHECK (single_use IN (0, 1)),
  jwks TEXT,
  ca_cert TEXT,
  -- Host of the issuer's keys when the trust was made; null for keys that were given.
  keys_host TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  mac BLOB,
  UNIQUE (machine_id, name)
) STRICT;
CREATE INDEX trust_by_maker ON trust (created_by, created_at);

CREATE TABLE trust_used (
  digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
  -- The realm that it counts for; a JWT of an issuer on the Internet is used in all of them.
  realm_id TEXT NOT NULL,
  until TEXT NOT NULL,
  mac BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX trust_used_by_realm ON trust_used (realm_id, until);
CREATE INDEX trust_used_by_end ON trust_used (until);
`,
};
