/** Makes the tables of secrets, engines' configurations and leases as SQLite's migrations leave them. Leases are counted, not kept count of: see the tip in 0003. */
export const CONTENT = {
	name: "0002-content",
	sql: `
-- One row a key and environment. Its MAC covers the id, so the adapter takes the number before it writes the row.
CREATE SEQUENCE secret_id AS bigint;
CREATE TABLE secret (
  id bigint PRIMARY KEY,
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  environment text COLLATE "C" NOT NULL CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  deleted_at text COLLATE "C",
  mac bytea,
  UNIQUE (realm_id, environment, key)
);
CREATE INDEX secret_live ON secret (realm_id) WHERE deleted_at IS NULL;
CREATE INDEX secret_counted ON secret (realm_id, environment) WHERE deleted_at IS NULL;

CREATE TABLE secret_version (
  secret_id bigint NOT NULL REFERENCES secret (id),
  version bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  pre_encrypted boolean NOT NULL,
  expires_at text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  comment text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  mac bytea,
  PRIMARY KEY (secret_id, version)
);
CREATE INDEX secret_version_by_end ON secret_version (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE deleted_secret (
  id text COLLATE "C" PRIMARY KEY,
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  environment text COLLATE "C" NOT NULL CHECK (environment IN ('dev', 'staging', 'prod', 'test')),
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  deleted_by text COLLATE "C" NOT NULL,
  deleted_at text COLLATE "C" NOT NULL,
  mac bytea
);
CREATE INDEX deleted_secret_by_name ON deleted_secret (realm_id, environment, key, id);
CREATE INDEX deleted_secret_by_realm ON deleted_secret (realm_id, id);
CREATE INDEX deleted_secret_by_time ON deleted_secret (deleted_at);

CREATE TABLE deleted_version (
  deletion_id text COLLATE "C" NOT NULL REFERENCES deleted_secret (id),
  version bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  pre_encrypted boolean NOT NULL,
  expires_at text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  comment text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  mac bytea,
  PRIMARY KEY (deletion_id, version)
);

CREATE TABLE engine_config (
  id text COLLATE "C" PRIMARY KEY,
  engine text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'retired', 'generated')),
  sealed bytea NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  ordinal bigint NOT NULL UNIQUE,
  mac bytea
);
CREATE UNIQUE INDEX engine_config_current ON engine_config (engine, realm_id, state) WHERE state <> 'retired';
CREATE INDEX engine_config_by_scope ON engine_config (realm_id, engine);

CREATE TABLE engine_former_realm (
  engine text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" NOT NULL REFERENCES realm (id),
  mac bytea,
  PRIMARY KEY (engine, realm_id)
);
CREATE INDEX engine_former_realm_by_realm ON engine_former_realm (realm_id);

-- A row lives on after its end: its name must never be given out again. It has no references, because it outlives realm and user.
CREATE TABLE lease (
  id text COLLATE "C" PRIMARY KEY,
  engine text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" NOT NULL,
  realm text COLLATE "C" NOT NULL,
  config_id text COLLATE "C" NOT NULL,
  config_realm_id text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('intent', 'active', 'uncertain', 'revoking', 'revoked', 'aborted', 'abandoned')),
  due_at bigint,
  expires_at text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  last_error text COLLATE "C" NOT NULL DEFAULT '',
  fence text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  payload bytea,
  created_at text COLLATE "C" NOT NULL,
  delivered_at text COLLATE "C",
  closed_at text COLLATE "C",
  mac bytea,
  CHECK ((due_at IS NULL) = (closed_at IS NOT NULL)),
  CHECK ((due_at IS NULL) = (state IN ('revoked', 'aborted', 'abandoned')))
);
CREATE UNIQUE INDEX lease_by_credential ON lease (target, scope, name) WHERE name <> '';
CREATE INDEX lease_by_realm ON lease (realm_id, id);
CREATE INDEX lease_closed ON lease (closed_at) WHERE closed_at IS NOT NULL;
-- The rest holds open leases only: rows that are closed are kept for months, and nothing that happens every second may pass them.
CREATE INDEX lease_due ON lease (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX lease_by_config ON lease (config_id) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open ON lease (state, id) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open_of_realm ON lease (realm_id, state, id) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open_of_config ON lease (engine, config_realm_id, state) WHERE due_at IS NOT NULL;
CREATE INDEX lease_open_in_common ON lease (realm_id, engine) WHERE due_at IS NOT NULL AND config_realm_id = '';
CREATE INDEX lease_put_off ON lease (target, due_at) WHERE state IN ('revoking', 'uncertain');
`,
};
