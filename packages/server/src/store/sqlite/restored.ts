import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Restore } from "../../backups/model.ts";
import { syncDirectory } from "../../durable-file.ts";

/** The database that takes the place of the present one, while it is made. */
const DRAFT = "svc.db.restoring";

/** What it is called from the instant at which it counts; then comes the time. */
const ADOPTED = /^svc\.db\.restored-(\w+)$/;

/** A database and what stands beside it; the database itself is last, so that it is moved last. */
const PARTS = ["-journal", "-wal", "-shm", ""];

/** Where the database that is restored is prepared, in a data directory. */
export function restoringFile(directory: string): string {
	return join(directory, DRAFT);
}

/** Whether a data directory holds a database. */
export function hasDatabase(directory: string): boolean {
	return PARTS.some((part) => existsSync(join(directory, `svc.db${part}`)));
}

/**
 * Writes into a database that it was restored: what the next start has to tell, and that leases rest until somebody has looked at them.
 * Sessions end, because one that was ended since the backup would be alive again.
 */
export function markRestored(file: string, restore: Restore): void {
	const db = new Database(file, { fileMustExist: true });
	try {
		db.pragma("journal_mode = DELETE");
		db.pragma("synchronous = EXTRA");
		db.pragma("secure_delete = ON");
		const set = db.prepare(
			"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		);
		db.transaction(() => {
			set.run("restore_epoch", String(restore.epoch));
			set.run("restore_to_tell", JSON.stringify(restore));
			set.run("leases_paused", restore.restored_at);
			db.exec("DELETE FROM session");
		})();
	} finally {
		db.close();
	}
}

/** Lets the prepared database take the present one's place, which is kept under a dated name. Whatever cuts it off leaves the one or the other. */
export function adoptDraft(directory: string, stamp: string): void {
	renameSync(join(directory, DRAFT), join(directory, `svc.db.restored-${stamp}`));
	syncDirectory(directory);
	adoptRestored(directory);
}

/** Brings a restore to its end that was cut off, and removes one that did not get far enough. Whoever calls it has the directory's lock. */
export function adoptRestored(directory: string): void {
	for (const part of ["", "-journal"]) rmSync(join(directory, `${DRAFT}${part}`), { force: true });
	const found = readdirSync(directory).find((name) => ADOPTED.test(name));
	if (found === undefined) return;
	const stamp = found.replace(ADOPTED, "$1");
	for (const part of PARTS) {
		const old = join(directory, `svc.db${part}`);
		// What is left of the old log or journal must be away before the new database has the name: SQLite would play it into that one.
		if (existsSync(old)) renameSync(old, join(directory, `svc.db.before-${stamp}${part}`));
	}
	syncDirectory(directory);
	renameSync(join(directory, found), join(directory, "svc.db"));
	syncDirectory(directory);
}
