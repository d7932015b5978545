import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Restore } from "../../backups/model.ts";
import { createRowMacs, type RowKey } from "../../crypto/row-macs.ts";
import { syncDirectory } from "../../durable-file.ts";
import { system } from "../../system.ts";
import { LOSS_ACCEPTED } from "../unsuitable.ts";
import { continueTip, openChain } from "./tip.ts";

/** Name of the database that will replace the current one, while it is prepared. */
const DRAFT = "svc.db.restoring";

/** Its name from the instant at which it takes effect, with the time at the end. */
const ADOPTED = /^svc\.db\.restored-(\w+)$/;

/** Tables of what ends with a restore. A backup from before it had codes lacks some of them. */
const ENDED = ["session", "reset_code", "invitation", "recovery_codes"] as const;

/** Suffixes of a database's files; the database itself is last, so that it is moved last. */
const PARTS = ["-journal", "-wal", "-shm", ""];

/** Path at which a restored database is prepared in a data directory. */
export function restoringFile(directory: string): string {
	return join(directory, DRAFT);
}

/** Removes a restored database that was not put in place: it holds all sealed values. The caller must hold the directory's lock. */
export function removeDraft(directory: string): void {
	for (const part of ["", "-journal", "-wal", "-shm"]) rmSync(join(directory, `${DRAFT}${part}`), { force: true });
}

/** Tells whether a data directory holds a database. */
export function hasDatabase(directory: string): boolean {
	return PARTS.some((part) => existsSync(join(directory, `svc.db${part}`)));
}

/**
 * Marks a database as restored: the next start reports it, and leases pause until somebody has checked them. Sessions end, because one that ended
 * after the backup would be alive again, and so do reset codes, invitations and recovery codes, because one that was used would work again.
 * @param keys of its rows, the active one first; none for a backup from before its rows authenticated themselves
 */
export function markRestored(file: string, restore: Restore, keys: readonly RowKey[]): void {
	const db = new Database(file, { fileMustExist: true });
	try {
		db.pragma("journal_mode = DELETE");
		db.pragma("synchronous = EXTRA");
		db.pragma("secure_delete = ON");
		const set = db.prepare(
			"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		);
		const has = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?");
		const macs = createRowMacs(keys, system.randomBytes);
		const keeper = keys.length === 0 ? undefined : continueTip(db, openChain(db), macs);
		db.transaction(() => {
			set.run("restore_epoch", String(restore.epoch));
			set.run("restore_to_tell", JSON.stringify(restore));
			set.run("era", restore.restored_at);
			// Servers that have seen later changes must not take the restored database for one that lost them.
			set.run(LOSS_ACCEPTED, restore.restored_at);
			set.run("leases_paused", restore.restored_at);
			for (const table of ENDED) if (has.get(table) !== undefined) db.exec(`DELETE FROM ${table}`);
			keeper?.seal();
		})();
	} finally {
		db.close();
	}
}

/** Replaces the current database, which is kept under a dated name, by the prepared one. An interruption leaves the one or the other. */
export function adoptDraft(directory: string, stamp: string): void {
	renameSync(join(directory, DRAFT), join(directory, `svc.db.restored-${stamp}`));
	syncDirectory(directory);
	adoptRestored(directory);
}

/** Finishes a restore that was cut off, or removes one that did not get far enough. The caller must hold the directory's lock. */
export function adoptRestored(directory: string): void {
	removeDraft(directory);
	const found = readdirSync(directory).find((name) => ADOPTED.test(name));
	if (found === undefined) return;
	moveAside(directory, found.replace(ADOPTED, "$1"));
	renameSync(join(directory, found), join(directory, "svc.db"));
	syncDirectory(directory);
}

/** Moves a directory's database aside, under a dated name. */
export function moveAside(directory: string, stamp: string): void {
	for (const part of PARTS) {
		const old = join(directory, `svc.db${part}`);
		// The old log or journal must go before the new database gets the name: SQLite would replay it into that one.
		if (existsSync(old)) renameSync(old, join(directory, `svc.db.before-${stamp}${part}`));
	}
	syncDirectory(directory);
}
