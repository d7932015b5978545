import { TOKEN_LINEAGE } from "./migrations/0004-token-lineage.ts";
import { ENGINE_REALMS } from "./migrations/0005-engine-realms.ts";
import { IDENTITIES } from "./migrations/0006-identities.ts";
import { KNOWN_SOURCES } from "./migrations/0007-known-sources.ts";
import { QUOTAS } from "./migrations/0008-quotas.ts";
import { ROW_LIMITS } from "./migrations/0009-row-limits.ts";
import { VALUES_LAST } from "./migrations/0010-values-last.ts";
import { CONFIG_ORDER } from "./migrations/0011-config-order.ts";
import { ROW_MACS } from "./migrations/0012-row-macs.ts";
import { AUDIT_QUESTIONS } from "./migrations/0013-audit-questions.ts";
import { INSTANCE_ADMINS } from "./migrations/0014-instance-admins.ts";
import { DELETED_SECRETS } from "./migrations/0015-deleted-secrets.ts";
import { CODES } from "./migrations/0016-codes.ts";
import { MACHINES } from "./migrations/0017-machines.ts";
import { TRUSTS } from "./migrations/0018-trusts.ts";
import { DELETED_REALMS } from "./migrations/0019-deleted-realms.ts";
import { AUDIT_KEY_SETS } from "./migrations/0020-audit-key-sets.ts";
import { FACTORS } from "./migrations/0021-factors.ts";
import { INVITATIONS } from "./migrations/0022-invitations.ts";
import { AUDIT_DAYS } from "./migrations/0023-audit-days.ts";
import { LIST_ORDER } from "./migrations/0024-list-order.ts";
import { PASSKEYS } from "./migrations/0025-passkeys.ts";
import { LEASE_COUNTS } from "./migrations/0026-lease-counts.ts";
import { RESTORED_REALMS } from "./migrations/0027-restored-realms.ts";
import { VERSIONS_BY_AGE } from "./migrations/0028-versions-by-age.ts";
import { INVITATIONS_BY_ID } from "./migrations/0029-invitations-by-id.ts";
import { NO_VERSIONS_BY_AGE } from "./migrations/0030-no-versions-by-age.ts";
import { AUDIT_POSTINGS } from "./migrations/0031-audit-postings.ts";

/**
 * The schema's history. Never edit a migration after a release; add a new one at the end.
 * Times are ISO 8601 UTC, ids are UUIDs, both as text; `''` stands for "none" where a column takes part in an index.
 */
export const MIGRATIONS: readonly { name: string; sql: string }[] = [
	{
		name: "0001-first",
		sql: `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE keyring (
  id BLOB PRIMARY KEY CHECK (length(id) = 8),
  purpose TEXT NOT NULL CHECK (purpose IN ('record', 'portable', 'session', 'cursor', 'checkpoint')),
  realm_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'retired')),
  wrapped BLOB NOT NULL,
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX keyring_active ON keyring (realm_id, purpose) WHERE state = 'active';
CREATE INDEX keyring_by_realm ON keyring (realm_id);

CREATE TABLE account (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT,
  instance_admin INTEGER NOT NULL CHECK (instance_admin IN (0, 1)),
  disabled_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE session (
  jti TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_user ON session (user_id);
CREATE INDEX session_by_end ON session (expires_at);

CREATE TABLE realm (
  id TEXT PRIMARY KEY,
  slug TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES account (id),
  created_at TEXT NOT NULL,
  deleted_at TEXT
) STRICT;
CREATE UNIQUE INDEX realm_by_slug ON realm (slug) WHERE deleted_at IS NULL;
CREATE INDEX realm_by_owner ON realm (user_id);
CREATE INDEX realm_deleted ON realm (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE api_token (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  scopes TEXT NOT NULL,
  realm_id TEXT REFERENCES realm (id) ON DELETE CASCADE,
  environment TEXT,
  expires_at TEXT,
  last_used_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX api_token_by_user ON api_token (user_id);
CREATE INDEX api_token_by_realm ON api_token (realm_id) WHERE realm_id IS NOT NULL;

CREATE TABLE binding (
  id TEXT PRIMARY KEY,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  granted_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (realm_id, user_id)
) STRICT;
CREATE INDEX binding_by_user ON binding (user_id);

-- One row a key and environment. A deleted secret keeps its row for the version number, and has no versions.
CREATE TABLE secret (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  environment TEXT NOT NULL CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  deleted_at TEXT,
  UNIQUE (realm_id, environment, key)
) STRICT;
CREATE INDEX secret_by_realm ON secret (realm_id);

CREATE TABLE secret_version (
  secret_id INTEGER NOT NULL REFERENCES secret (id) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  id TEXT NOT NULL,
  value BLOB NOT NULL,
  pre_encrypted INTEGER NOT NULL CHECK (pre_encrypted IN (0, 1)),
  comment TEXT NOT NULL,
  expires_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (secret_id, version)
) STRICT;
CREATE INDEX secret_version_by_end ON secret_version (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE audit_event (
  seq INTEGER PRIMARY KEY,
  timestamp TEXT NOT NULL,
  type TEXT NOT NULL,
  actor TEXT NOT NULL,
  realm_id TEXT NOT NULL,
  realm TEXT NOT NULL,
  data TEXT NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE INDEX audit_event_by_realm ON audit_event (realm_id);
CREATE INDEX audit_event_by_actor ON audit_event (actor);

CREATE TABLE audit_checkpoint (
  seq INTEGER PRIMARY KEY,
  timestamp TEXT NOT NULL,
  hash BLOB NOT NULL,
  key_id BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT;

CREATE TRIGGER audit_event_keep BEFORE UPDATE ON audit_event BEGIN SELECT RAISE(ABORT, 'audit events are not changed'); END;
CREATE TRIGGER audit_event_stay BEFORE DELETE ON audit_event BEGIN SELECT RAISE(ABORT, 'audit events are not deleted'); END;
`,
	},
	{
		name: "0002-engines-and-leases",
		sql: `
CREATE TABLE engine_config (
  id TEXT PRIMARY KEY,
  engine TEXT NOT NULL,
  realm_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'retired', 'generated')),
  sealed BLOB NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX engine_config_current ON engine_config (engine, realm_id, state) WHERE state <> 'retired';
CREATE INDEX engine_config_by_scope ON engine_config (realm_id, engine);

-- A row lives on after its end: its name must never be given out again. It has no foreign keys, because it outlives realm and user.
CREATE TABLE lease (
  id TEXT PRIMARY KEY,
  engine TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  realm_id TEXT NOT NULL,
  realm TEXT NOT NULL,
  config_id TEXT NOT NULL,
  config_realm_id TEXT NOT NULL,
  role TEXT NOT NULL,
  user_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('intent', 'active', 'uncertain', 'revoking', 'revoked', 'aborted', 'abandoned')),
  due_at INTEGER,
  expires_at TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  fence TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  payload BLOB,
  created_at TEXT NOT NULL,
  delivered_at TEXT,
  closed_at TEXT,
  CHECK ((due_at IS NULL) = (closed_at IS NOT NULL)),
  CHECK ((due_at IS NULL) = (state IN ('revoked', 'aborted', 'abandoned')))
) STRICT;
CREATE UNIQUE INDEX lease_by_credential ON lease (target, scope, name) WHERE name <> '';
CREATE INDEX lease_by_realm ON lease (realm_id, id);
CREATE INDEX lease_closed ON lease (closed_at) WHERE closed_at IS NOT NULL;
-- The rest holds open leases only: rows that are closed are kept for months, and nothing that happens every second may pass them.
CREATE INDEX lease_due ON lease (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX lease_by_config ON lease (config_id) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open ON lease (state, id) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open_of_realm ON lease (realm_id, state, id) WHERE due_at IS NOT NULL;

-- Kept by the triggers in the same transaction, so that a limit can be checked and a metric read without counting rows.
CREATE TABLE lease_count (
  engine TEXT NOT NULL,
  config_realm_id TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 0),
  PRIMARY KEY (engine, config_realm_id, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER lease_counted AFTER INSERT ON lease BEGIN
  INSERT INTO lease_count VALUES (NEW.engine, NEW.config_realm_id, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER lease_recounted AFTER UPDATE OF state ON lease WHEN OLD.state <> NEW.state BEGIN
  UPDATE lease_count SET count = count - 1 WHERE engine = OLD.engine AND config_realm_id = OLD.config_realm_id AND state = OLD.state;
  INSERT INTO lease_count VALUES (NEW.engine, NEW.config_realm_id, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER lease_uncounted AFTER DELETE ON lease BEGIN
  UPDATE lease_count SET count = count - 1 WHERE engine = OLD.engine AND config_realm_id = OLD.config_realm_id AND state = OLD.state;
END;
`,
	},
	{
		name: "0003-single-sign-on",
		sql: `
-- What is made due again when a target is back; the active ones that are due soon are many more.
CREATE INDEX lease_put_off ON lease (target, due_at) WHERE state IN ('revoking', 'uncertain');

CREATE TABLE sso_provider (
  name TEXT PRIMARY KEY,
  id TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('oidc', 'saml', 'ldap')),
  display_name TEXT NOT NULL,
  sealed BLOB NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Whom a provider's people are here. It outlives the provider's settings: one of the same name that comes later finds its people again.
CREATE TABLE sso_identity (
  provider TEXT NOT NULL,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  -- 0 when an account was made for an address that nobody who is trusted for it had verified.
  is_vouched INTEGER NOT NULL CHECK (is_vouched IN (0, 1)),
  created_at TEXT NOT NULL,
  PRIMARY KEY (provider, issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX sso_identity_by_user ON sso_identity (user_id);

-- What was good for one login: requests that were answered, assertions.
CREATE TABLE sso_used (digest BLOB PRIMARY KEY CHECK (length(digest) = 32), until TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX sso_used_by_end ON sso_used (until);
`,
	},
	TOKEN_LINEAGE,
	ENGINE_REALMS,
	IDENTITIES,
	KNOWN_SOURCES,
	QUOTAS,
	ROW_LIMITS,
	VALUES_LAST,
	CONFIG_ORDER,
	ROW_MACS,
	AUDIT_QUESTIONS,
	INSTANCE_ADMINS,
	DELETED_SECRETS,
	CODES,
	MACHINES,
	TRUSTS,
	DELETED_REALMS,
	AUDIT_KEY_SETS,
	FACTORS,
	INVITATIONS,
	AUDIT_DAYS,
	LIST_ORDER,
	PASSKEYS,
	LEASE_COUNTS,
	RESTORED_REALMS,
	VERSIONS_BY_AGE,
	INVITATIONS_BY_ID,
	NO_VERSIONS_BY_AGE,
	AUDIT_POSTINGS,
];
