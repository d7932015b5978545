/**
 * Finds and counts events by type, actor, realm, environment, token, key, set of keys and time, in blocks of 256 consecutive events. A term has one row in each
 * block in which it occurs, with the offsets of its events. Keys are many, and often new, so a block has all of them in one column, and the next segment's
 * first block divides those of 64 blocks into rows by the beginnings of their hashes: a rare key is looked for in one row of a segment. The writer adds a
 * block when the log has all of it: an index over each event cost a tenth of every read of a secret. Nothing is changed afterwards, because the log only
 * grows. Design: §15
 */
export const AUDIT_POSTINGS = {
	name: "0031-audit-postings",
	sql: `
DROP INDEX audit_event_by_time;
DROP INDEX audit_event_by_token;
DROP INDEX audit_event_by_key;
DROP INDEX audit_event_by_key_set;
DROP INDEX audit_event_by_realm;
DROP INDEX audit_event_by_actor;
DROP INDEX audit_event_denied;

CREATE TABLE audit_block (
  block INTEGER PRIMARY KEY,
  earliest TEXT NOT NULL,
  latest TEXT NOT NULL,
  -- For each event that names a key: 6 bytes of a hash, and the event's offset.
  keys BLOB NOT NULL
) STRICT;
CREATE INDEX audit_block_by_time ON audit_block (latest);

CREATE TABLE audit_posting (
  term TEXT NOT NULL,
  block INTEGER NOT NULL,
  offsets BLOB NOT NULL,
  PRIMARY KEY (term, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER audit_block_keep BEFORE UPDATE ON audit_block BEGIN SELECT RAISE(ABORT, 'blocks of the audit log are not changed'); END;
CREATE TRIGGER audit_block_stay BEFORE DELETE ON audit_block BEGIN SELECT RAISE(ABORT, 'blocks of the audit log are not deleted'); END;
CREATE TRIGGER audit_posting_keep BEFORE UPDATE ON audit_posting BEGIN SELECT RAISE(ABORT, 'blocks of the audit log are not changed'); END;
CREATE TRIGGER audit_posting_stay BEFORE DELETE ON audit_posting BEGIN SELECT RAISE(ABORT, 'blocks of the audit log are not deleted'); END;
`,
};
