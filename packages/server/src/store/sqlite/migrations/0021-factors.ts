/** Keeps the second factors of accounts, and the codes that stand in for a lost one. Design: §16 */
export const FACTORS = {
	name: "0021-factors",
	sql: `
CREATE TABLE factor (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('totp')),
  sealed BLOB NOT NULL,
  -- The last step of time whose code was accepted; 0 before the first.
  last_step INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  -- NULL until its first code was accepted: until then it is asked of nobody.
  confirmed_at TEXT,
  mac BLOB
) STRICT;
CREATE INDEX factor_by_user ON factor (user_id);
CREATE INDEX factor_pending ON factor (created_at) WHERE confirmed_at IS NULL;

CREATE TABLE recovery_codes (
  user_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
  -- One after another, 32 bytes each; a used one is taken out.
  digests BLOB NOT NULL CHECK (length(digests) % 32 = 0),
  created_at TEXT NOT NULL,
  mac BLOB
) STRICT, WITHOUT ROWID;
`,
};
