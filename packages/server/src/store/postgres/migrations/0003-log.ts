/** Tables that nobody changes: the log, and the names that it refers to. */
const KEPT = ["audit_event", "audit_key", "audit_key_part", "audit_key_in_part", "audit_key_set", "audit_part_in_set"];

const kept = (table: string) =>
	`CREATE TRIGGER ${table}_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION keep_log();`;

/** Makes the tables of the log, and the tip. */
export const LOG = {
	name: "0003-log",
	sql: `
-- What was hashed is kept as it was hashed. The facts that events are found by stand beside it, because PostgreSQL reads no JSON that holds U+0000.
CREATE TABLE audit_event (
  seq bigint PRIMARY KEY,
  timestamp text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" NOT NULL,
  realm text COLLATE "C" NOT NULL,
  data text COLLATE "C" NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  key text COLLATE "C",
  key_set text COLLATE "C",
  token_id text COLLATE "C",
  environment text COLLATE "C"
);
-- A day of a realm is counted from this index alone.
CREATE INDEX audit_event_by_realm ON audit_event (realm_id, timestamp) INCLUDE (type);
CREATE INDEX audit_event_by_actor ON audit_event (actor);
CREATE INDEX audit_event_by_time ON audit_event (timestamp);
CREATE INDEX audit_event_by_token ON audit_event (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX audit_event_by_key ON audit_event (key, realm_id, timestamp) WHERE key IS NOT NULL;
CREATE INDEX audit_event_by_key_set ON audit_event (key_set, realm_id, timestamp) WHERE key_set IS NOT NULL;
CREATE INDEX audit_event_verified ON audit_event (seq) WHERE type = 'audit.verified';

CREATE TABLE audit_checkpoint (
  seq bigint PRIMARY KEY,
  timestamp text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  key_id bytea NOT NULL,
  signature bytea NOT NULL
);

CREATE TABLE audit_key (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text COLLATE "C" NOT NULL UNIQUE);
CREATE TABLE audit_key_part (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hash text COLLATE "C" NOT NULL UNIQUE);
CREATE TABLE audit_key_in_part (
  part_id bigint NOT NULL REFERENCES audit_key_part (id),
  key_id bigint NOT NULL REFERENCES audit_key (id),
  PRIMARY KEY (part_id, key_id)
);
CREATE UNIQUE INDEX audit_part_by_key ON audit_key_in_part (key_id, part_id);
CREATE TABLE audit_key_set (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text COLLATE "C" NOT NULL,
  realm_id text COLLATE "C" NOT NULL,
  UNIQUE (hash, realm_id)
);
CREATE TABLE audit_part_in_set (
  set_id bigint NOT NULL REFERENCES audit_key_set (id),
  part_id bigint NOT NULL REFERENCES audit_key_part (id),
  PRIMARY KEY (set_id, part_id)
);
CREATE UNIQUE INDEX audit_set_by_part ON audit_part_in_set (part_id, set_id);

-- One row a change, never replaced: a row that every change updates gets slower and slower while a backup's snapshot lives.
CREATE TABLE tip (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sealed bytea NOT NULL);

CREATE FUNCTION keep_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the audit log is not changed'; END $$;
${KEPT.map(kept).join("\n")}
`,
};
