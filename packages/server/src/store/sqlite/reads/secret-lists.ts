import type { Database } from "better-sqlite3";
import type { RowValue } from "../../../crypto/row-macs.ts";
import type { ListedVersion, SecretVersion } from "../../../secrets/model.ts";
import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import { comparedColumns, knownRows } from "../known-rows.ts";
import { verified } from "../row-guard.ts";
import { BOUND, createStatements } from "../statements.ts";

type Reads = Implementations<"read">["secrets"];

const VERSION = comparedColumns({ secret_version: "v" });
const OF_VERSION = ["v.value", "v.comment", "v.created_by", "v.created_at"];
const WANTED = [...VERSION, ...OF_VERSION, "s.realm_id", "s.environment", "s.key", "json_each.key"];

/** One statement for all: one for each version costs twice as much. A value opens under its own name alone: the name needs no MAC here. */
const VERSIONS = `SELECT ${WANTED.join(", ")}
	FROM json_each(${BOUND}) CROSS JOIN secret s ON s.id = json_each.value ->> 0
	CROSS JOIN secret_version v ON v.secret_id = s.id AND v.version = json_each.value ->> 1`;
const VERIFIED_VERSION = `SELECT version FROM ${verified("secret_version")} WHERE secret_id = ? AND version = ?`;

/** Columns of a secret with its current version. */
const PAIR = comparedColumns({ secret: "s", secret_version: "v" });
const LISTED = [...PAIR, "length(v.value)", "v.created_at"];

const CURRENT = "v.secret_id = s.id AND v.version = s.version";
/** All of a realm's, whatever their environment, as they are: one that another program moved must not be missing in its own. */
const LIVE = `SELECT ${LISTED.join(", ")} FROM secret s LEFT JOIN secret_version v ON ${CURRENT}
	WHERE s.realm_id = ${BOUND} AND s.deleted_at IS NULL AND s.id > ${BOUND} ORDER BY s.id`;
const FIRST_LIVE = `${LIVE} LIMIT ${BOUND}`;
const VERIFIED_PAIR = `SELECT v.version FROM ${verified("secret")} s LEFT JOIN ${verified("secret_version")} v ON ${CURRENT}
	WHERE s.id = ${BOUND}`;

/** Questions about many secrets at once. @param most pairs of a secret and its version that are remembered */
export function secretListReads(db: Database, most?: number): Pick<Reads, "list" | "versionsAt"> {
	const prepare = createStatements(db);
	const isThere = (text: string, ...key: unknown[]) =>
		typeof prepare(text)
			.pluck()
			.get(...key) === "number";
	// A secret without its current version: somebody took that away.
	const isPair = knownRows(PAIR.length, ([id]) => isThere(VERIFIED_PAIR, id), most);
	const isVersion = knownRows(VERSION.length, ([id, version]) => isThere(VERIFIED_VERSION, id, version));
	return {
		list(realm_id, environment, after, limit) {
			if (environment === undefined) {
				// All in one step: to iterate takes twice as long.
				const rows = prepare(FIRST_LIVE).raw().all(realm_id, Number(after), limit) as RowValue[][];
				if (!rows.every(isPair)) throw rowAltered();
				return rows.map(listedIn);
			}
			const listed: ListedVersion[] = [];
			for (const row of prepare(LIVE).raw().iterate(realm_id, Number(after)) as IterableIterator<RowValue[]>) {
				if (!isPair(row)) throw rowAltered();
				if (row[LISTED_AT.environment] === environment) listed.push(listedIn(row));
				if (listed.length === limit) break;
			}
			return listed;
		},
		versionsAt(wanted) {
			const found: (SecretVersion | undefined)[] = wanted.map(() => undefined);
			const names = JSON.stringify(wanted.map(({ secret_id, version }) => [secret_id, version]));
			for (const row of prepare(VERSIONS).raw().all(names) as RowValue[][]) {
				if (!isVersion(row)) throw rowAltered();
				found[row[VERSION_AT.place] as number] = versionIn(row);
			}
			return found;
		},
	};
}

const LISTED_AT = {
	secret_id: LISTED.indexOf("s.id"),
	environment: LISTED.indexOf("s.environment"),
	key: LISTED.indexOf("s.key"),
	version: LISTED.indexOf("v.version"),
	bytes: LISTED.indexOf("length(v.value)"),
	expires_at: LISTED.indexOf("v.expires_at"),
	created_at: LISTED.indexOf("v.created_at"),
};

function listedIn(row: readonly RowValue[]): ListedVersion {
	return {
		secret_id: row[LISTED_AT.secret_id] as number,
		environment: row[LISTED_AT.environment] as ListedVersion["environment"],
		key: row[LISTED_AT.key] as string,
		version: row[LISTED_AT.version] as number,
		bytes: row[LISTED_AT.bytes] as number,
		expires_at: row[LISTED_AT.expires_at] as string | null,
		created_at: row[LISTED_AT.created_at] as string,
		position: String(row[LISTED_AT.secret_id]),
	};
}

const VERSION_AT = {
	id: WANTED.indexOf("v.id"),
	realm_id: WANTED.indexOf("s.realm_id"),
	environment: WANTED.indexOf("s.environment"),
	key: WANTED.indexOf("s.key"),
	version: WANTED.indexOf("v.version"),
	value: WANTED.indexOf("v.value"),
	pre_encrypted: WANTED.indexOf("v.pre_encrypted"),
	comment: WANTED.indexOf("v.comment"),
	expires_at: WANTED.indexOf("v.expires_at"),
	created_by: WANTED.indexOf("v.created_by"),
	created_at: WANTED.indexOf("v.created_at"),
	place: WANTED.indexOf("json_each.key"),
};

function versionIn(row: readonly RowValue[]): SecretVersion {
	return {
		id: row[VERSION_AT.id] as string,
		realm_id: row[VERSION_AT.realm_id] as string,
		environment: row[VERSION_AT.environment] as SecretVersion["environment"],
		key: row[VERSION_AT.key] as string,
		version: row[VERSION_AT.version] as number,
		value: row[VERSION_AT.value] as Buffer,
		pre_encrypted: row[VERSION_AT.pre_encrypted] === 1,
		comment: row[VERSION_AT.comment] as string,
		expires_at: row[VERSION_AT.expires_at] as string | null,
		created_by: row[VERSION_AT.created_by] as string,
		created_at: row[VERSION_AT.created_at] as string,
	};
}
