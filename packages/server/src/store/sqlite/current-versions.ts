import type { Database } from "better-sqlite3";
import { createStatements } from "./statements.ts";

const LIVE = `SELECT s.id, s.key, v.version, length(v.value) AS bytes
	FROM secret s JOIN secret_version v ON v.secret_id = s.id AND v.version = s.version
	WHERE s.realm_id = ? AND s.environment = ? AND (v.expires_at IS NULL OR v.expires_at > ?)`;

const NAMES = `SELECT id, version, bytes FROM (${LIVE}) ORDER BY id`;

const PAIRS = `SELECT coalesce(f.id, 0), coalesce(f.version, 0), coalesce(f.bytes, 0), coalesce(t.id, 0), coalesce(t.version, 0), coalesce(t.bytes, 0)
	FROM (${LIVE}) f FULL OUTER JOIN (${LIVE}) t ON t.key = f.key ORDER BY coalesce(f.key, t.key)`;

/** Questions about all secrets of an environment, each answered from one state of the database. The reader thread answers large ones. */
export function currentVersions(db: Database) {
	const prepare = createStatements(db);
	const read = (text: string, ...args: unknown[]) =>
		prepare(text)
			.raw()
			.all(...args) as number[][];
	return {
		/** Current versions, each as three numbers. */
		currentVersions: (realm_id: string, environment: string, expired_by: string): Float64Array =>
			pack(read(NAMES, realm_id, environment, expired_by)),
		/** Returns the same, or undefined when there are more than `most`. */
		few(realm_id: string, environment: string, expired_by: string, most: number): Float64Array | undefined {
			const rows = read(`${NAMES} LIMIT ?`, realm_id, environment, expired_by, most + 1);
			return rows.length > most ? undefined : pack(rows);
		},
		/** Current versions of two environments by key, each pair as six numbers: zeros where one is missing. */
		pairs: (realm_id: string, from: string, to: string, expired_by: string): Float64Array =>
			pack(read(PAIRS, realm_id, from, expired_by, realm_id, to, expired_by)),
	};
}

/** Packs rows into one block, 8 bytes a number, which is quick to copy from a thread. */
function pack(rows: readonly number[][]): Float64Array {
	return Float64Array.from(rows.flat());
}
