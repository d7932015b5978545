/**
 * Moves each value to the end of its row. SQLite reads a row from its beginning: a list of 50 secrets of 170 kB read 2,000 pages for the
 * dates behind the values, and took 25 times as long. Design: §13.
 */
export const VALUES_LAST = {
	name: "0010-values-last",
	sql: `
CREATE TABLE moved_version (
  secret_id INTEGER NOT NULL REFERENCES secret (id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  id TEXT NOT NULL,
  pre_encrypted INTEGER NOT NULL CHECK (pre_encrypted IN (0, 1)),
  expires_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  comment TEXT NOT NULL,
  value BLOB NOT NULL,
  UNIQUE (secret_id, version)
) STRICT;

INSERT INTO moved_version (rowid, secret_id, version, id, pre_encrypted, expires_at, created_by, created_at, comment, value)
  SELECT rowid, secret_id, version, id, pre_encrypted, expires_at, created_by, created_at, comment, value FROM secret_version ORDER BY rowid;

DROP TABLE secret_version;

ALTER TABLE moved_version RENAME TO secret_version;

CREATE INDEX secret_version_by_end ON secret_version (expires_at) WHERE expires_at IS NOT NULL;
`,
};
