/**
 * Adds the realms that may use an engine's common configuration. An existing one names none, so it stays open to the realms that used it. A
 * certificate does not record its configuration, so each realm that had one keeps the authority that it knows.
 */
export const ENGINE_REALMS = {
	name: "0005-engine-realms",
	sql: `
-- Realms that an engine served before a configuration named them, until one does.
CREATE TABLE engine_former_realm (
  engine TEXT NOT NULL,
  realm_id TEXT NOT NULL REFERENCES realm (id) ON DELETE CASCADE,
  PRIMARY KEY (engine, realm_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX engine_former_realm_by_realm ON engine_former_realm (realm_id);

INSERT INTO engine_former_realm (engine, realm_id)
  SELECT DISTINCT lease.engine, realm.id FROM lease JOIN realm ON realm.id = lease.realm_id
  WHERE lease.config_realm_id = '' AND (lease.engine = 'containerorch' OR EXISTS (
    SELECT 1 FROM engine_config WHERE engine_config.engine = lease.engine AND engine_config.realm_id = '' AND state = 'active'));

INSERT OR IGNORE INTO engine_former_realm (engine, realm_id)
  SELECT DISTINCT used.engine, realm.id
  FROM (SELECT realm_id, data ->> '$.engine' AS engine FROM audit_event
    WHERE type = 'engine.generate' AND realm_id <> '' AND data ->> '$.lease_id' IS NULL) AS used
  JOIN realm ON realm.id = used.realm_id
  WHERE used.engine = 'pki' OR EXISTS (
    SELECT 1 FROM engine_config WHERE engine_config.engine = used.engine AND engine_config.realm_id = '' AND state = 'active');

-- What max_connections_per_realm counts.
CREATE INDEX lease_open_in_common ON lease (realm_id, engine) WHERE due_at IS NOT NULL AND config_realm_id = '';
`,
} as const;
