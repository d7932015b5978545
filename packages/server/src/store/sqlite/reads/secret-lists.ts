import type { Database } from "better-sqlite3";
import type { RowValue } from "../../../crypto/row-macs.ts";
import type { ListedVersion, SecretVersion } from "../../../secrets/model.ts";
import { rowAltered } from "../../errors.ts";
import { coveredColumns } from "../../row-kinds.ts";
import type { Implementations } from "../../store.ts";
import { KEYS, verified } from "../row-guard.ts";
import { BOUND, createStatements } from "../statements.ts";

type Reads = Implementations<"read">["secrets"];

/** A version as SQLite has it, and its place among the references. */
type Stored = Omit<SecretVersion, "pre_encrypted"> & { pre_encrypted: number; at: number };

/** One statement for all: one for each version costs twice as much. A value opens under its own name alone: the name needs no MAC here. */
const VERSIONS = `SELECT json_each.key AS at, v.id, v.version, v.value, v.pre_encrypted, v.comment, v.expires_at, v.created_by, v.created_at,
	s.realm_id, s.environment, s.key
	FROM json_each(${BOUND}) CROSS JOIN secret s ON s.id = json_each.value ->> 0
	CROSS JOIN ${verified("secret_version")} v ON v.secret_id = s.id AND v.version = json_each.value ->> 1`;

/** Columns of a secret with its current version: all that the two MACs cover, the MACs, and what else a list shows. */
const LISTED = [
	...coveredColumns("secret").map((name) => `s.${name}`),
	...coveredColumns("secret_version").map((name) => `v.${name}`),
	"hex(s.mac || v.mac)",
	"length(v.value)",
	"v.created_at",
];
const AT = {
	secret_id: LISTED.indexOf("s.id"),
	environment: LISTED.indexOf("s.environment"),
	key: LISTED.indexOf("s.key"),
	version: LISTED.indexOf("v.version"),
	bytes: LISTED.indexOf("length(v.value)"),
	expires_at: LISTED.indexOf("v.expires_at"),
	created_at: LISTED.indexOf("v.created_at"),
};

const CURRENT = "v.secret_id = s.id AND v.version = s.version";
/** All of a realm's, whatever their environment, as they are: one that another program moved must not be missing in its own. */
const LIVE = `SELECT ${LISTED.join(", ")} FROM secret s LEFT JOIN secret_version v ON ${CURRENT}
	WHERE s.realm_id = ${BOUND} AND s.deleted_at IS NULL AND s.id > ${BOUND} ORDER BY s.id`;
const VERIFIED = `SELECT v.version FROM ${verified("secret")} s LEFT JOIN ${verified("secret_version")} v ON ${CURRENT}
	WHERE s.id = ${BOUND}`;

/** Rows remembered, of some 600 bytes each: a megabyte. */
const MAX_KNOWN = 2048;

/** Questions about many secrets at once. */
export function secretListReads(db: Database): Pick<Reads, "list" | "versionsAt"> {
	const prepare = createStatements(db);
	const beginVerifying = createRowVerifier(db);
	return {
		list(realm_id, environment, after, limit) {
			const listed: ListedVersion[] = [];
			const verifyRow = beginVerifying();
			for (const row of prepare(LIVE).raw().iterate(realm_id, Number(after)) as IterableIterator<RowValue[]>) {
				verifyRow(row);
				if (environment === undefined || row[AT.environment] === environment) listed.push(versionIn(row));
				if (listed.length === limit) break;
			}
			return listed;
		},
		versionsAt(wanted) {
			const found: (SecretVersion | undefined)[] = wanted.map(() => undefined);
			const names = JSON.stringify(wanted.map(({ secret_id, version }) => [secret_id, version]));
			for (const { at, pre_encrypted, ...row } of prepare(VERSIONS).all(names) as Stored[])
				found[at] = { ...row, pre_encrypted: pre_encrypted === 1 };
			return found;
		},
	};
}

/**
 * Creates what refuses altered rows of a list. A row that is as it was when its MACs were right is accepted without them: comparing it takes a tenth of the
 * time.
 */
function createRowVerifier(db: Database): () => (row: RowValue[]) => void {
	const prepare = createStatements(db);
	const known = new Map<RowValue | undefined, RowValue[]>();
	let keys: unknown;
	const verifyRow = (row: RowValue[]) => {
		const id = row[AT.secret_id];
		const before = known.get(id);
		if (before?.every((value, at) => value === row[at])) return;
		// A secret without its current version: somebody took that away.
		if (typeof prepare(VERIFIED).pluck().get(id) !== "number") throw rowAltered();
		if (known.size >= MAX_KNOWN) known.clear();
		known.set(id, row);
	};
	return () => {
		const now = prepare(`SELECT ${KEYS}`).pluck().get();
		if (now !== keys) known.clear();
		keys = now;
		return verifyRow;
	};
}

function versionIn(row: readonly RowValue[]): ListedVersion {
	return {
		secret_id: row[AT.secret_id] as number,
		environment: row[AT.environment] as ListedVersion["environment"],
		key: row[AT.key] as string,
		version: row[AT.version] as number,
		bytes: row[AT.bytes] as number,
		expires_at: row[AT.expires_at] as string | null,
		created_at: row[AT.created_at] as string,
		position: String(row[AT.secret_id]),
	};
}
