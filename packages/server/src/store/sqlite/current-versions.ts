import type { Database } from "better-sqlite3";
import { rowAltered } from "../errors.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/**
 * Names a part of a statement: the secrets of an environment with their current versions. MATERIALIZED, so that a condition on it never keeps an altered
 * row from being verified. A live secret without its current version has a null there.
 */
const part = (name: string, environment: string) => `${name} AS MATERIALIZED (
	SELECT s.id, s.key, s.deleted_at, v.version, length(v.value) AS bytes, v.expires_at
	FROM ${verified("secret")} s LEFT JOIN ${verified("secret_version")} v ON v.secret_id = s.id AND v.version = s.version
	WHERE s.realm_id = @realm_id AND s.environment = ${environment})`;

const isLive = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > @expired_by)";

const NAMES = `WITH ${part("found", "@environment")} SELECT id, version, bytes FROM found WHERE ${isLive} ORDER BY id`;

const COUNT = `SELECT count(*) FROM (SELECT 1 FROM secret WHERE realm_id = ? AND environment = ? LIMIT ?)`;

const PAIRS = `WITH ${part("one", "@environment")}, ${part("other", "@to")}
	SELECT coalesce(f.id, 0), iif(f.id IS NULL, 0, f.version), coalesce(f.bytes, 0), coalesce(t.id, 0), iif(t.id IS NULL, 0, t.version), coalesce(t.bytes, 0)
	FROM (SELECT * FROM one WHERE ${isLive}) f FULL OUTER JOIN (SELECT * FROM other WHERE ${isLive}) t ON t.key = f.key
	ORDER BY coalesce(f.key, t.key)`;

/** Questions about all secrets of an environment, each answered from one state of the database. The reader thread answers large ones. */
export function currentVersions(db: Database) {
	const prepare = createStatements(db);
	const read = (text: string, about: object) => prepare(text).raw().all(about) as (number | null)[][];
	return {
		/** Current versions, each as three numbers. */
		currentVersions: (realm_id: string, environment: string, expired_by: string): Float64Array =>
			pack(read(NAMES, { realm_id, environment, expired_by })),
		/** Returns the same, or undefined when there are more than `most`, deleted and expired ones included. */
		few(realm_id: string, environment: string, expired_by: string, most: number): Float64Array | undefined {
			// All rows are verified before the first one is found: they are counted first.
			const count = prepare(COUNT)
				.pluck()
				.get(realm_id, environment, most + 1) as number;
			return count > most ? undefined : pack(read(NAMES, { realm_id, environment, expired_by }));
		},
		/** Current versions of two environments by key, each pair as six numbers: zeros where one is missing. */
		pairs: (realm_id: string, from: string, to: string, expired_by: string): Float64Array =>
			pack(read(PAIRS, { realm_id, environment: from, to, expired_by })),
	};
}

/** Packs rows into one block, 8 bytes a number, which is quick to copy from a thread. @throws AppError row_altered when somebody took a current version away */
function pack(rows: readonly (number | null)[][]): Float64Array {
	return Float64Array.from(rows.flat(), (number) => number ?? refuseAltered());
}

function refuseAltered(): never {
	throw rowAltered();
}
