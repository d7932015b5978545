/**
 * Makes the triggers that count leases unable to fail, whatever count a program with SQLite alone has written: a lease is revoked in the same transaction.
 * Design: §13
 */
export const LEASE_COUNTS = {
	name: "0026-lease-counts",
	sql: `
DROP TRIGGER lease_counted;
DROP TRIGGER lease_recounted;
DROP TRIGGER lease_uncounted;
CREATE TRIGGER lease_counted AFTER INSERT ON lease BEGIN
  INSERT INTO lease_count VALUES (NEW.engine, NEW.config_realm_id, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = min(count, 1000000000000) + 1;
END;
CREATE TRIGGER lease_recounted AFTER UPDATE OF state ON lease WHEN OLD.state <> NEW.state BEGIN
  UPDATE lease_count SET count = max(count, 1) - 1 WHERE engine = OLD.engine AND config_realm_id = OLD.config_realm_id AND state = OLD.state;
  INSERT INTO lease_count VALUES (NEW.engine, NEW.config_realm_id, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = min(count, 1000000000000) + 1;
END;
CREATE TRIGGER lease_uncounted AFTER DELETE ON lease BEGIN
  UPDATE lease_count SET count = max(count, 1) - 1 WHERE engine = OLD.engine AND config_realm_id = OLD.config_realm_id AND state = OLD.state;
END;
`,
};
