/**
 * Makes the tables of keys, people, realms and machines as SQLite's migrations leave them. Texts are compared as bytes whatever the database's own order
 * is; a time is text, ISO 8601 UTC, or milliseconds. No reference takes rows with it when its row goes: each row that ends leaves the sums of the tip, so
 * the adapter ends them itself.
 */
export const ACCESS = {
	name: "0001-access",
	sql: `
CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL, mac bytea);

CREATE TABLE keyring (
  id bytea PRIMARY KEY CHECK (length(id) = 8),
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('record', 'portable', 'session', 'cursor', 'checkpoint', 'rows')),
  realm_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'retired')),
  wrapped bytea NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE UNIQUE INDEX keyring_active ON keyring (realm_id, purpose) WHERE state = 'active';
CREATE INDEX keyring_by_realm ON keyring (realm_id);

CREATE TABLE account (
  id text COLLATE "C" PRIMARY KEY,
  email text COLLATE "C" NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  password text COLLATE "C",
  instance_admin boolean NOT NULL,
  disabled_at text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX account_instance_admin ON account (instance_admin) WHERE instance_admin;

CREATE TABLE account_limit (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES account (id),
  realm_bytes bigint CHECK (realm_bytes >= 0),
  realms bigint CHECK (realms >= 0),
  mac bytea
);

CREATE TABLE session (
  jti text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX session_by_user ON session (user_id);
CREATE INDEX session_by_end ON session (expires_at);

CREATE TABLE factor (
  id text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  type text COLLATE "C" NOT NULL CHECK (type IN ('totp', 'passkey')),
  name text COLLATE "C",
  rp_id text COLLATE "C",
  sealed bytea NOT NULL,
  last_step bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  confirmed_at text COLLATE "C",
  mac bytea
);
CREATE INDEX factor_by_user ON factor (user_id);
CREATE INDEX factor_pending ON factor (created_at) WHERE confirmed_at IS NULL;

CREATE TABLE recovery_codes (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES account (id),
  digests bytea NOT NULL CHECK (length(digests) % 32 = 0),
  created_at text COLLATE "C" NOT NULL,
  mac bytea
);

CREATE TABLE known_source (
  pair bytea PRIMARY KEY CHECK (length(pair) = 32),
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  seen_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX known_source_by_user ON known_source (user_id, seen_at);
CREATE INDEX known_source_by_time ON known_source (seen_at);

CREATE TABLE reset_code (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES account (id),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX reset_code_by_end ON reset_code (expires_at);
CREATE INDEX reset_code_by_maker ON reset_code (created_by);

CREATE TABLE realm (
  id text COLLATE "C" PRIMARY KEY,
  slug text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  created_at text COLLATE "C" NOT NULL,
  deleted_at text COLLATE "C",
  deleted_by text COLLATE "C",
  -- Bytes of every version that is kept, 512 counted beside each value, and keys that were ever written, the deleted ones included.
  bytes bigint NOT NULL DEFAULT 0,
  keys bigint NOT NULL DEFAULT 0,
  mac bytea
);
CREATE UNIQUE INDEX realm_by_slug ON realm (slug) WHERE deleted_at IS NULL;
CREATE INDEX realm_by_owner ON realm (user_id, id);
CREATE INDEX realm_deleted ON realm (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX realm_deleted_by_slug ON realm (slug, deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE binding (
  id text COLLATE "C" PRIMARY KEY,
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  role text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  granted_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  mac bytea,
  UNIQUE (realm_id, user_id)
);
CREATE INDEX binding_by_user ON binding (user_id, realm_id);
CREATE INDEX binding_in_order ON binding (realm_id, id);

CREATE TABLE invitation (
  id text COLLATE "C" PRIMARY KEY,
  email text COLLATE "C" NOT NULL,
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  created_by text COLLATE "C" NOT NULL REFERENCES account (id),
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE UNIQUE INDEX invitation_by_maker ON invitation (created_by, email);
CREATE INDEX invitation_in_order ON invitation (created_by, id);
CREATE INDEX invitation_by_email ON invitation (email, created_at);
CREATE INDEX invitation_by_end ON invitation (expires_at);

CREATE TABLE invitation_binding (
  invitation_id text COLLATE "C" NOT NULL REFERENCES invitation (id),
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  role text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  mac bytea,
  PRIMARY KEY (invitation_id, realm_id)
);
CREATE INDEX invitation_binding_by_realm ON invitation_binding (realm_id);

-- maker_id is no reference: all tokens of a line belong to the same user and realm, so they end with these.
CREATE TABLE api_token (
  id text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  name text COLLATE "C" NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  scopes text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" REFERENCES realm (id),
  environment text COLLATE "C",
  expires_at text COLLATE "C",
  last_used_at text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  engines text COLLATE "C",
  maker_id text COLLATE "C",
  mac bytea
);
CREATE INDEX api_token_by_user ON api_token (user_id, expires_at);
CREATE INDEX api_token_in_order ON api_token (user_id, id);
CREATE INDEX api_token_by_end ON api_token (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX api_token_by_realm ON api_token (realm_id) WHERE realm_id IS NOT NULL;
CREATE INDEX api_token_by_maker ON api_token (maker_id) WHERE maker_id IS NOT NULL;

CREATE TABLE machine (
  id text COLLATE "C" PRIMARY KEY,
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  name text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
  scopes text COLLATE "C" NOT NULL,
  environment text COLLATE "C" CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  engines text COLLATE "C",
  description text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  mac bytea,
  UNIQUE (realm_id, name)
);
CREATE INDEX machine_by_maker ON machine (created_by, created_at);

CREATE TABLE machine_token (
  id text COLLATE "C" PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES machine (id),
  name text COLLATE "C" NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  -- The trust that gave it; null for a token that a person made.
  trust_id text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  last_used_at text COLLATE "C",
  mac bytea
);
CREATE INDEX machine_token_by_machine ON machine_token (machine_id, expires_at);
CREATE INDEX machine_token_in_order ON machine_token (machine_id, id);
CREATE INDEX machine_token_by_end ON machine_token (expires_at);
CREATE INDEX machine_token_by_maker ON machine_token (created_by, created_at);
CREATE INDEX machine_token_by_trust ON machine_token (trust_id) WHERE trust_id IS NOT NULL;

CREATE TABLE trust (
  id text COLLATE "C" PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES machine (id),
  name text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('github', 'gitlab', 'kubernetes', 'oidc')),
  issuer text COLLATE "C",
  trust_domain text COLLATE "C",
  audience text COLLATE "C" NOT NULL,
  claims text COLLATE "C" NOT NULL,
  max_ttl_ms bigint NOT NULL,
  single_use boolean NOT NULL,
  jwks text COLLATE "C",
  ca_cert text COLLATE "C",
  keys_host text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  mac bytea,
  UNIQUE (machine_id, name)
);
CREATE INDEX trust_by_maker ON trust (created_by, created_at);

CREATE TABLE trust_used (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  realm_id text COLLATE "C" NOT NULL,
  until text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX trust_used_by_realm ON trust_used (realm_id, until);
CREATE INDEX trust_used_by_end ON trust_used (until);

CREATE TABLE sso_provider (
  name text COLLATE "C" PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('oidc', 'saml', 'ldap')),
  display_name text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  mac bytea
);

CREATE TABLE sso_identity (
  provider text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL REFERENCES account (id),
  is_vouched boolean NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  made_account boolean NOT NULL,
  mac bytea,
  PRIMARY KEY (provider, issuer, subject)
);
CREATE INDEX sso_identity_by_user ON sso_identity (user_id);

CREATE TABLE sso_used (digest bytea PRIMARY KEY CHECK (length(digest) = 32), until text COLLATE "C" NOT NULL, mac bytea);
CREATE INDEX sso_used_by_end ON sso_used (until);
`,
};
