/** Keeps the codes that people hand to others: those that set a new password, and invitations with the roles that they give. Design: §15 */
export const CODES = {
	name: "0016-codes",
	sql: `
CREATE TABLE reset_code (
  user_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  mac BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX reset_code_by_end ON reset_code (expires_at);
CREATE INDEX reset_code_by_maker ON reset_code (created_by);

CREATE TABLE invitation (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  created_by TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  mac BLOB
) STRICT;
CREATE UNIQUE INDEX invitation_by_maker ON invitation (created_by, email);
CREATE INDEX invitation_by_email ON invitation (email);
CREATE INDEX invitation_by_end ON invitation (expires_at);

CREATE TABLE invitation_binding (
  invitation_id TEXT NOT NULL REFERENCES invitation (id) ON DELETE CASCADE,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  mac BLOB,
  PRIMARY KEY (invitation_id, realm_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_binding_by_realm ON invitation_binding (realm_id);
`,
};
