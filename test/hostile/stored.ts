import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Opens a server's database as another program would, and closes it again. @param data the server's data directory */
export function withDatabase<T>(data: string, ask: (db: DatabaseSync) => T, readOnly = false): T {
	const db = new DatabaseSync(join(data, "svc.db"), { readOnly, timeout: 5000 });
	try {
		return ask(db);
	} finally {
		db.close();
	}
}

/** Returns everything stored except the log, the tip that follows it, and background changes: leases are only counted. */
export function everythingStored(data: string): object {
	const backups = join(data, "backups");
	const read = (db: DatabaseSync) => {
		const names = db
			.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
			.all()
			.map(({ name }) => String(name));
		const kept = names.filter((name) => !/^(sqlite_|audit_|meta$|tip$|lease)/.test(name));
		const tables = kept.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()] as const);
		const leases = db.prepare("SELECT count(*) FROM lease").get();
		const text = JSON.stringify(tables, (key, value) => (key === "last_used_at" ? undefined : value));
		return { tables: JSON.parse(text), leases, backups: existsSync(backups) ? readdirSync(backups) : [] };
	};
	return withDatabase(data, read, true);
}
