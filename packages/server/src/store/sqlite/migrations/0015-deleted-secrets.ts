/** Keeps what was deleted of a secret until it is restored or purged, apart from what lives. A value stays at the end of its row, see 0010. Design: §15. */
export const DELETED_SECRETS = {
	name: "0015-deleted-secrets",
	sql: `
CREATE TABLE deleted_secret (
  id TEXT PRIMARY KEY,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  environment TEXT NOT NULL CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  deleted_by TEXT NOT NULL,
  deleted_at TEXT NOT NULL,
  mac BLOB
) STRICT;
CREATE INDEX deleted_secret_by_name ON deleted_secret (realm_id, environment, key, id);
CREATE INDEX deleted_secret_by_realm ON deleted_secret (realm_id, id);
CREATE INDEX deleted_secret_by_time ON deleted_secret (deleted_at);

CREATE TABLE deleted_version (
  deletion_id TEXT NOT NULL REFERENCES deleted_secret (id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  id TEXT NOT NULL,
  pre_encrypted INTEGER NOT NULL CHECK (pre_encrypted IN (0, 1)),
  expires_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  comment TEXT NOT NULL,
  mac BLOB,
  value BLOB NOT NULL,
  UNIQUE (deletion_id, version)
) STRICT;
`,
};
