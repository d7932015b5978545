/** The tables, in the order in which they refer to each other. */
const TABLES = ["audit_key", "audit_key_part", "audit_key_in_part", "audit_key_set", "audit_part_in_set"] as const;

/** As events, they are never changed or deleted. */
const kept = (table: string) => `
CREATE TRIGGER ${table}_keep BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, 'names in audit events are not changed'); END;
CREATE TRIGGER ${table}_stay BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, 'names in audit events are not deleted'); END;`;

/**
 * Keeps the names that bulk reads refer to: sets of parts of keys. A part and a set are named by the hash of their content, and each name of a key is stored
 * once, so what a change of one key adds does not depend on the lengths of keys. Sets know their realm, so that nobody looks through others'. Design: §10.
 */
export const AUDIT_KEY_SETS = {
	name: "0020-audit-key-sets",
	sql: `
CREATE TABLE audit_key (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE audit_key_part (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE audit_key_in_part (
  part_id INTEGER NOT NULL REFERENCES audit_key_part (id),
  key_id INTEGER NOT NULL REFERENCES audit_key (id),
  PRIMARY KEY (part_id, key_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX audit_part_by_key ON audit_key_in_part (key_id, part_id);

CREATE TABLE audit_key_set (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, realm_id TEXT NOT NULL, UNIQUE (hash, realm_id)) STRICT;
CREATE TABLE audit_part_in_set (
  set_id INTEGER NOT NULL REFERENCES audit_key_set (id),
  part_id INTEGER NOT NULL REFERENCES audit_key_part (id),
  PRIMARY KEY (set_id, part_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX audit_set_by_part ON audit_part_in_set (part_id, set_id);

CREATE INDEX audit_event_by_key_set ON audit_event (iif(json_valid(data), data ->> '$.key_set', NULL))
  WHERE iif(json_valid(data), data ->> '$.key_set', NULL) IS NOT NULL;
${TABLES.map(kept).join("")}
`,
};
