import { hash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ROW_MACS } from "../../packages/server/src/store/sqlite/migrations/0012-row-macs.ts";
import { MIGRATIONS } from "../../packages/server/src/store/sqlite/migrations.ts";

/** Migrations of the last release whose rows had no MACs. */
const BEFORE_MACS = MIGRATIONS.slice(
	0,
	MIGRATIONS.findIndex(({ name }) => name === ROW_MACS.name),
);

/** Turns a database into one of the last release whose rows had no MACs: same rows, older schema. @returns its newest migration */
export function makeOlder(file: string): string {
	const now = `${file}.now`;
	const source = new DatabaseSync(file);
	source.exec("PRAGMA wal_checkpoint(TRUNCATE)");
	source.prepare("VACUUM INTO ?").run(now);
	source.close();
	for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`, { force: true });
	writeFileSync(file, "", { mode: 0o600 });
	const db = new DatabaseSync(file);
	db.exec("PRAGMA foreign_keys = OFF");
	db.exec("CREATE TABLE migration (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT");
	const add = db.prepare("INSERT INTO migration VALUES (?, ?, '2020-01-01T00:00:00.000Z')");
	for (const { name, sql } of BEFORE_MACS) {
		db.exec(sql);
		add.run(name, hash("sha256", sql));
	}
	db.prepare("ATTACH ? AS now").run(now);
	const names = (text: string) =>
		db
			.prepare(text)
			.all()
			.map(({ name }) => String(name));
	const tables = names("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
	for (const table of tables.filter((name) => name !== "migration")) {
		const columns = names(`SELECT name FROM pragma_table_info('${table}')`).join(", ");
		// The release before knew no keys of rows.
		const known = table === "keyring" ? "WHERE purpose <> 'rows'" : "";
		db.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM now.${table} ${known}`);
	}
	db.close();
	// Nor did it note that rows fit their MACs.
	rmSync(join(dirname(file), "adopted"), { force: true });
	rmSync(now);
	return BEFORE_MACS.at(-1)?.name ?? "";
}
