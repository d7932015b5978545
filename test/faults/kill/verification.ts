import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Slot } from "./slot.ts";

/**
 * Examines a copy of a killed server's database: it is sound, versions and events match one to one, and every answered
 * deletion and read has its event.
 */
export function assertDatabaseKeeps(data: string, slots: Slot[]): void {
	const folder = mkdtempSync(join(tmpdir(), "svc-kill-"));
	for (const file of ["svc.db", "svc.db-wal"]) {
		if (existsSync(join(data, file))) copyFileSync(join(data, file), join(folder, file));
	}
	const database = new DatabaseSync(join(folder, "svc.db"));
	try {
		assert.equal(database.prepare("PRAGMA quick_check").get()?.quick_check, "ok");
		assert.deepEqual(database.prepare("PRAGMA foreign_key_check").all(), []);
		for (const slot of slots) assertEventsMatch(database, slot);
	} finally {
		database.close();
		rmSync(folder, { recursive: true });
	}
}

function assertEventsMatch(database: DatabaseSync, { key, written, deletions, reads }: Slot): void {
	const select = database.prepare(
		"SELECT data ->> 'version' AS version FROM audit_event WHERE type = ? AND data ->> 'key' = ? ORDER BY seq",
	);
	const versionsOf = (type: string) => select.all(type, key).map((row) => Number(row.version));
	const current = Number(database.prepare("SELECT version FROM secret WHERE key = ?").get(key)?.version ?? 0);
	const set = versionsOf("secret.set");
	const expected = Array.from({ length: current }, (_, index) => index + 1);
	assert.deepEqual(set, expected, `events of the writes of ${key}, which is at version ${current}`);
	assert.deepEqual(
		written.filter((version) => !set.includes(version)),
		[],
		`answered writes of ${key}`,
	);
	assert.ok(versionsOf("secret.delete").length >= deletions, `${deletions} deletions of ${key} were answered`);
	assert.ok(versionsOf("secret.read").length >= reads, `${reads} reads of ${key} were answered`);
}
