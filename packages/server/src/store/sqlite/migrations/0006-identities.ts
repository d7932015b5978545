/** Adds the link that made an account, the id by which a link is removed, and the provider that signed a session in. */
export const IDENTITIES = {
	name: "0006-identities",
	sql: `
ALTER TABLE sso_identity ADD COLUMN id TEXT NOT NULL DEFAULT '';
UPDATE sso_identity SET id = lower(
  hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' ||
  substr('89ab', abs(random() % 4) + 1, 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
);
CREATE UNIQUE INDEX sso_identity_by_id ON sso_identity (id);

-- An account without a password was made by the first of its identities.
ALTER TABLE sso_identity ADD COLUMN made_account INTEGER NOT NULL DEFAULT 0 CHECK (made_account IN (0, 1));
UPDATE sso_identity SET made_account = 1 WHERE id IN (
  SELECT (SELECT id FROM sso_identity WHERE user_id = account.id ORDER BY created_at, id LIMIT 1)
  FROM account WHERE password IS NULL
);

-- Empty when it was opened with a password, or before this was kept.
ALTER TABLE session ADD COLUMN provider TEXT NOT NULL DEFAULT '';
`,
};
