import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";

/** Oldest SQLite without the WAL-reset race. Design: §4. */
const MINIMUM_SQLITE = [3, 51, 3];

/** Pragmas of every connection, and the value that each must read back as. */
const PRAGMAS: readonly [string, string | number, unknown][] = [
	["foreign_keys", "ON", 1],
	["trusted_schema", "OFF", 0],
	["cell_size_check", "ON", 1],
	["secure_delete", "ON", 1],
	["busy_timeout", 5000, 5000],
	["temp_store", "MEMORY", 2],
	["mmap_size", 0, 0],
];

/**
 * KiB of pages that a connection caches. The driver's default of 16 MiB for each of them would fill as the database grows, which looks
 * like a leak; it speeds up only the connection that answers requests.
 */
const CACHE_KIB = { writer: 8192, requests: 16_384, long: 2048 } as const;

const JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024;

/**
 * Opens the only connection that writes. The pragmas are read back after a statement has run, because better-sqlite3 silently
 * switches a WAL database to synchronous=NORMAL at that moment.
 * @throws FatalError when a pragma does not keep its value
 */
export function openWriter(file: string): Database.Database {
	const db = new Database(file);
	db.pragma("journal_mode = WAL");
	db.prepare("SELECT count(*) FROM sqlite_schema").get();
	db.pragma("synchronous = FULL");
	// SQLite forgets the error of a checkpoint that it starts by itself: wal-checkpointer.ts does it instead.
	db.pragma("wal_autocheckpoint = 0");
	db.pragma(`cache_size = -${CACHE_KIB.writer}`);
	db.pragma(`journal_size_limit = ${JOURNAL_SIZE_LIMIT}`);
	settle(db);
	expect(db, "journal_mode", "wal");
	expect(db, "synchronous", 2);
	return db;
}

/** Opens a connection that only moves the log into the database; this works although it may not write. */
export function openCheckpointer(file: string): Database.Database {
	const db = openWriter(file);
	db.pragma("query_only = ON");
	return db;
}

/** Opens a connection that only reads, for requests or for long questions. */
export function openReader(file: string, use: "requests" | "long" = "requests"): Database.Database {
	const db = new Database(file, { readonly: true, fileMustExist: true });
	db.pragma(`cache_size = -${CACHE_KIB[use]}`);
	settle(db);
	db.pragma("query_only = ON");
	return db;
}

function settle(db: Database.Database): void {
	const version = String(db.prepare("SELECT sqlite_version()").pluck().get()).split(".").map(Number);
	const [major = 0, minor = 0, patch = 0] = version;
	const [m0 = 0, m1 = 0, m2 = 0] = MINIMUM_SQLITE;
	if (major * 1e6 + minor * 1e3 + patch < m0 * 1e6 + m1 * 1e3 + m2) {
		throw new FatalError(`SQLite ${version.join(".")} is too old: ${MINIMUM_SQLITE.join(".")} or newer is needed`);
	}
	for (const [name, value] of PRAGMAS) db.pragma(`${name} = ${value}`);
	db.prepare("SELECT count(*) FROM sqlite_schema").get();
	for (const [name, , wanted] of PRAGMAS) expect(db, name, wanted);
}

function expect(db: Database.Database, pragma: string, wanted: unknown): void {
	if (db.pragma(pragma, { simple: true }) !== wanted)
		throw new FatalError(`the database does not keep ${pragma}=${wanted}`);
}
