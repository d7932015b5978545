/** Keeps machine accounts and their tokens, apart from people's: neither can be taken for the other. Design: §15. */
export const MACHINES = {
	name: "0017-machines",
	sql: `
CREATE TABLE machine (
  id TEXT PRIMARY KEY,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  scopes TEXT NOT NULL,
  environment TEXT CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  engines TEXT,
  description TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  mac BLOB,
  UNIQUE (realm_id, name)
) STRICT;
CREATE INDEX machine_by_maker ON machine (created_by, created_at);

CREATE TABLE machine_token (
  id TEXT PRIMARY KEY,
  machine_id TEXT NOT NULL REFERENCES machine (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  -- The trust that gave it; null for a token that a person made.
  trust_id TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  last_used_at TEXT,
  mac BLOB
) STRICT;
CREATE INDEX machine_token_by_machine ON machine_token (machine_id, expires_at);
CREATE INDEX machine_token_by_end ON machine_token (expires_at);
CREATE INDEX machine_token_by_maker ON machine_token (created_by, created_at);
CREATE INDEX machine_token_by_trust ON machine_token (trust_id) WHERE trust_id IS NOT NULL;
`,
};
