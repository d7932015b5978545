import { hash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "../../packages/server/src/store/sqlite/migrations.ts";

/** Turns a database into one of the release before the newest migration: same rows, older schema. @returns the missing migration */
export function makeOlder(file: string): string {
	const [newest] = MIGRATIONS.slice(-1);
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
	for (const { name, sql } of MIGRATIONS.slice(0, -1)) {
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
	return newest?.name ?? "";
}
