import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { untriggered } from "./other-tables.ts";
import type { Forgery } from "./trial.ts";

const ADMINS = "UPDATE account SET instance_admin = 1";

const inPlace = (name: string, replace: (data: string, before: string) => void): Forgery => ({
	name: `file: ${name}`,
	replace,
});

const bySql = (name: string, ...sql: string[]): Forgery => ({
	name: `file: ${name}`,
	apply: (database) => {
		for (const one of sql) database.exec(one);
	},
});

/** Deletes every row but those of the history of migrations. */
function emptied(database: DatabaseSync): void {
	const tables = database.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> 'migration'");
	const sql = tables.all().map(({ name }) => `DELETE FROM main.${name}`);
	untriggered(database, sql.join("; "));
}

/** Leaves a change in a write-ahead log or a journal next to a database, as a program does that was killed. */
function unfinished(data: string, mode: "WAL" | "DELETE", sql: string): void {
	const [file, aside] = [join(data, "svc.db"), join(data, "aside")];
	mkdirSync(aside);
	const copy = join(aside, "svc.db");
	copyFileSync(file, copy);
	const database = new DatabaseSync(copy, { enableForeignKeyConstraints: false });
	database.exec(`PRAGMA journal_mode = ${mode}; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 1`);
	if (mode === "DELETE") database.exec("BEGIN");
	database.exec(sql);
	const suffix = mode === "WAL" ? "-wal" : "-journal";
	if (mode === "DELETE") copyFileSync(copy, file);
	copyFileSync(`${copy}${suffix}`, `${file}${suffix}`);
	database.close();
	rmSync(aside, { recursive: true });
}

/** Puts back a hot journal whose pages are those of a forged database. */
function hotJournal(data: string): void {
	const file = join(data, "svc.db");
	const forged = join(data, "forged.db");
	copyFileSync(file, forged);
	const database = new DatabaseSync(forged, { enableForeignKeyConstraints: false });
	database.exec(`PRAGMA journal_mode = DELETE; ${ADMINS}`);
	// The journal keeps the forged pages; the file gets others, which a start rolls back.
	database.exec(
		"PRAGMA cache_size = 1; BEGIN; UPDATE account SET name = hex(zeroblob(3000)); UPDATE audit_checkpoint SET timestamp = hex(zeroblob(3000))",
	);
	copyFileSync(forged, file);
	copyFileSync(`${forged}-journal`, `${file}-journal`);
	database.exec("ROLLBACK");
	database.close();
	rmSync(forged);
}

/** Forgeries of the files around the database, and of what is in its header. */
export const OF_FILES: readonly Forgery[] = [
	inPlace("a write-ahead log with another admin", (data) => unfinished(data, "WAL", ADMINS)),
	inPlace("a journal that brings another admin", hotJournal),
	inPlace("a write-ahead log of another database", (data) => {
		const file = join(data, "other.db");
		const other = new DatabaseSync(file);
		other.exec(
			"PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE account (id); INSERT INTO account VALUES (1)",
		);
		copyFileSync(`${file}-wal`, join(data, "svc.db-wal"));
		other.close();
		rmSync(file);
	}),
	inPlace("no database", (data) => {
		for (const suffix of ["", "-wal", "-shm"]) rmSync(join(data, `svc.db${suffix}`), { force: true });
	}),
	inPlace("an empty file in its place", (data) => writeFileSync(join(data, "svc.db"), "", { mode: 0o600 })),
	{ name: "file: a database without rows", apply: emptied },
	inPlace("a link in its place", (data) => {
		renameSync(join(data, "svc.db"), join(data, "elsewhere.db"));
		symlinkSync(join(data, "elsewhere.db"), join(data, "svc.db"));
	}),
	inPlace("a forged database under a restored one's name", (data) => {
		const draft = join(data, "svc.db.restored-2030");
		copyFileSync(join(data, "svc.db"), draft);
		const database = new DatabaseSync(draft, { enableForeignKeyConstraints: false });
		database.exec(`PRAGMA journal_mode = DELETE; ${ADMINS}`);
		database.close();
	}),
	inPlace("a link under a restored one's name", (data) => {
		renameSync(join(data, "svc.db"), join(data, "elsewhere.db"));
		symlinkSync(join(data, "elsewhere.db"), join(data, "svc.db.restored-2030"));
	}),
	inPlace("the mark of an adoption", (data) => writeFileSync(join(data, "adopted"), "2030\n", { mode: 0o600 })),
	inPlace("rests of a restore and an adoption", (data) => {
		for (const name of ["svc.db.restoring", "svc.db.adopting"]) writeFileSync(join(data, name), "x", { mode: 0o600 });
	}),
	inPlace("a shared memory of nonsense", (data) =>
		writeFileSync(join(data, "svc.db-shm"), Buffer.alloc(32_768, 7), { mode: 0o600 }),
	),
	bySql("another application id and version", "PRAGMA main.application_id = 7; PRAGMA main.user_version = 99"),
	bySql("another journal mode", "PRAGMA main.journal_mode = DELETE"),
	bySql("pages of another size", "PRAGMA main.journal_mode = DELETE; PRAGMA main.page_size = 1024", "VACUUM main"),
	bySql("another way of keeping free pages", "PRAGMA main.auto_vacuum = 1", "VACUUM main"),
];
