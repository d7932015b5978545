/**
 * Adds the MACs of rows, and the tip that counts them; the keyring gets keys for both. A value stays at the end of its row, see 0010.
 * Rows have no MAC until the database is adopted. Design: §13.
 */
export const ROW_MACS = {
	name: "0012-row-macs",
	sql: `
CREATE TABLE moved_key (
  id BLOB PRIMARY KEY CHECK (length(id) = 8),
  purpose TEXT NOT NULL CHECK (purpose IN ('record', 'portable', 'session', 'cursor', 'checkpoint', 'rows')),
  realm_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'retired')),
  wrapped BLOB NOT NULL,
  created_at TEXT NOT NULL,
  mac BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO moved_key (id, purpose, realm_id, state, wrapped, created_at) SELECT id, purpose, realm_id, state, wrapped, created_at FROM keyring;
DROP TABLE keyring;
ALTER TABLE moved_key RENAME TO keyring;
CREATE UNIQUE INDEX keyring_active ON keyring (realm_id, purpose) WHERE state = 'active';
CREATE INDEX keyring_by_realm ON keyring (realm_id);

CREATE TABLE moved_version (
  secret_id INTEGER NOT NULL REFERENCES secret (id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  id TEXT NOT NULL,
  pre_encrypted INTEGER NOT NULL CHECK (pre_encrypted IN (0, 1)),
  expires_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  comment TEXT NOT NULL,
  mac BLOB,
  value BLOB NOT NULL,
  UNIQUE (secret_id, version)
) STRICT;
INSERT INTO moved_version (rowid, secret_id, version, id, pre_encrypted, expires_at, created_by, created_at, comment, value)
  SELECT rowid, secret_id, version, id, pre_encrypted, expires_at, created_by, created_at, comment, value FROM secret_version ORDER BY rowid;
DROP TABLE secret_version;
ALTER TABLE moved_version RENAME TO secret_version;
CREATE INDEX secret_version_by_end ON secret_version (expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE account ADD COLUMN mac BLOB;
ALTER TABLE account_limit ADD COLUMN mac BLOB;
ALTER TABLE session ADD COLUMN mac BLOB;
ALTER TABLE known_source ADD COLUMN mac BLOB;
ALTER TABLE api_token ADD COLUMN mac BLOB;
ALTER TABLE realm ADD COLUMN mac BLOB;
ALTER TABLE binding ADD COLUMN mac BLOB;
ALTER TABLE engine_config ADD COLUMN mac BLOB;
ALTER TABLE engine_former_realm ADD COLUMN mac BLOB;
ALTER TABLE sso_provider ADD COLUMN mac BLOB;
ALTER TABLE sso_identity ADD COLUMN mac BLOB;
ALTER TABLE sso_used ADD COLUMN mac BLOB;
ALTER TABLE meta ADD COLUMN mac BLOB;
ALTER TABLE secret ADD COLUMN mac BLOB;
ALTER TABLE lease ADD COLUMN mac BLOB;

-- The end of the log and two keyed sums of all rows that have a MAC, sealed. Every transaction replaces it.
CREATE TABLE tip (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;
`,
};
