/** Lets a second factor be a passkey, with the name that its owner gave it and the host that it works at. Design: §16 */
export const PASSKEYS = {
	name: "0025-passkeys",
	sql: `
CREATE TABLE moved_factor (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('totp', 'passkey')),
  -- Both of a passkey only.
  name TEXT,
  rp_id TEXT,
  sealed BLOB NOT NULL,
  -- The last step of time whose code was accepted, or the last count of a passkey's signatures; 0 before the first.
  last_step INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  -- NULL until it was used for the first time: until then it is asked of nobody.
  confirmed_at TEXT,
  mac BLOB
) STRICT;

INSERT INTO moved_factor (rowid, id, user_id, type, sealed, last_step, created_at, confirmed_at, mac)
  SELECT rowid, id, user_id, type, sealed, last_step, created_at, confirmed_at, mac FROM factor ORDER BY rowid;

DROP TABLE factor;

ALTER TABLE moved_factor RENAME TO factor;

CREATE INDEX factor_by_user ON factor (user_id);
CREATE INDEX factor_pending ON factor (created_at) WHERE confirmed_at IS NULL;
`,
};
