/** Adds counts of a realm's contents, and limits of an account. Design: §13. */
export const QUOTAS = {
	name: "0008-quotas",
	sql: `
-- What an account may have where that is not what the settings say, which is NULL.
CREATE TABLE account_limit (
  user_id TEXT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
  realm_bytes INTEGER CHECK (realm_bytes >= 0),
  realms INTEGER CHECK (realms >= 0)
) STRICT, WITHOUT ROWID;

-- Bytes of every version that is kept, 512 counted beside each value, and keys that were ever written, the deleted ones included. Every operation that adds or removes versions keeps them.
ALTER TABLE realm ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE realm ADD COLUMN keys INTEGER NOT NULL DEFAULT 0;

UPDATE realm SET
  bytes = (SELECT coalesce(sum(length(value) + 512), 0) FROM secret JOIN secret_version ON secret_id = secret.id WHERE realm_id = realm.id),
  keys = (SELECT count(*) FROM secret WHERE realm_id = realm.id);

-- However many keys were deleted, a list does not pass them.
DROP INDEX secret_by_realm;

CREATE INDEX secret_live ON secret (realm_id) WHERE deleted_at IS NULL;
`,
};
