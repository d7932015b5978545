import { crc32 } from "node:zlib";
import type { Database } from "better-sqlite3";
import type { Comparison, Difference } from "../../audit/comparison.ts";
import type { StoredEvent } from "../../audit/model.ts";
import { type Misnamed, NamedRows } from "../../audit/named-rows.ts";
import { GRANTING_TYPES, type GrantingRows, LoggedRights } from "../../audit/rights.ts";
import { createRowMacs, type RowKey, type RowMacs, type RowValue } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { coveredColumns, type RowTable } from "../row-kinds.ts";
import { fingerprintOf, isFingerprintBy, NAMED_TABLES, type NamedRow, naming, readNamed } from "../row-names.ts";
import { describeMisnamed, nameOfDifference } from "./row-descriptions.ts";

/** Events read at a time, so that no long read keeps the write-ahead log from being emptied. */
const SEGMENT = 5000;

/** Rows that are remembered at a time, about 200 B each: with more, the log is read several times. */
const ROWS_A_PASS = 250_000;

/** Maximum number of differences for which a name is looked up. */
const MAX_NAMED = 100;

/**
 * Compares what the rows grant with what the log granted: first what the events say in words, then each row with the fingerprint that the last event
 * kept of it.
 * @param keys of the rows; none for a database from before they authenticated themselves, which has no fingerprints
 */
export function compareRows(db: Database, keys: readonly RowKey[]): Comparison {
	const said = differencesOfRights(db);
	const { misnamed, from } = keys.length === 0 ? { misnamed: [], from: undefined } : compareNames(db, keys);
	const known = new Set(said.map(({ kind, id }) => `${kind} ${id}`));
	const named = describeMisnamed(db, misnamed).filter(({ kind, id }) => !known.has(`${kind} ${id}`));
	const differences = [...said, ...named].map((found, index) =>
		found.name === undefined && index < MAX_NAMED ? { ...found, name: nameOfDifference(db, found) } : found,
	);
	return { differences, named_from: from };
}

/** Compares the rows of one state of the database with the log up to then. */
function differencesOfRights(db: Database): Difference[] {
	const { rows, last } = db.transaction(() => ({ rows: grantingRows(db), last: newest(db) }))();
	const logged = new LoggedRights();
	const isOfType = "type IN (SELECT value FROM json_each(@types))";
	for (const event of eventsUpTo(db, last, isOfType, { types: JSON.stringify(GRANTING_TYPES) })) logged.take(event);
	return logged.differences(rows);
}

/** Compares rows with their fingerprints in the log: those of one share of all names at a time. */
export function compareNames(
	db: Database,
	keys: readonly RowKey[],
	rows_a_pass = ROWS_A_PASS,
): { misnamed: Misnamed[]; from: Comparison["named_from"] } {
	const passes = Math.ceil(countRows(db) / rows_a_pass) || 1;
	const macs = createRowMacs(keys, system.randomBytes);
	const misnamed: Misnamed[] = [];
	let from: Comparison["named_from"];
	for (let pass = 0; pass < passes; pass++) {
		const isMine = (name: string) => passes === 1 || crc32(name) % passes === pass;
		const { rows, last, isRestored } = db.transaction(() => ({
			rows: standingRows(db, macs, isMine),
			last: newest(db),
			isRestored: db.prepare("SELECT 1 FROM main.meta WHERE name = 'restore_to_tell'").get() !== undefined,
		}))();
		const named = new NamedRows(rows);
		for (const event of eventsUpTo(db, last, NAMES_ROWS, {})) named.take(event, namedIn(event, isMine));
		if (isRestored) named.endSessions();
		misnamed.push(...withoutRenewed(db, keys, macs, [...named.differing()]));
		from = named.from;
	}
	return { misnamed, from };
}

/** Condition of events that name rows, or end some whose names it does not have. */
const NAMES_ROWS = `(instr(data, '"rows":"') > 0 OR type = 'backup.restored')`;

const TABLES = new Set<string>(NAMED_TABLES);

function namedIn({ data }: StoredEvent, isMine: (name: string) => boolean): NamedRow[] {
	const { rows } = JSON.parse(data) as { rows?: unknown };
	if (typeof rows !== "string") return [];
	return readNamed(rows).filter(({ name }) => TABLES.has(name.slice(0, name.indexOf("/"))) && isMine(name));
}

function standingRows(db: Database, macs: RowMacs, isMine: (name: string) => boolean): Map<string, string | undefined> {
	const standing = new Map<string, string | undefined>();
	for (const { table, name, mac, values } of rowsOf(db))
		if (isMine(name)) standing.set(name, fingerprintIf(macs, table, mac, values));
	return standing;
}

/** A row of a table that the log names. */
interface StoredRow {
	table: RowTable;
	name: string;
	mac: RowValue;
	/** Of the columns that the MAC covers. */
	values: RowValue[];
}

function* rowsOf(db: Database): Generator<StoredRow> {
	for (const table of NAMED_TABLES) {
		const nameOf = naming(table);
		const rows = db.prepare(`SELECT mac, ${coveredColumns(table).join(", ")} FROM main.${table}`).raw();
		for (const [mac = null, ...values] of rows.iterate() as IterableIterator<RowValue[]>)
			yield { table, name: nameOf(values), mac, values };
	}
}

/** Leaves out rows that have a MAC of a newer key, and are otherwise as they were; and those whose fingerprint is by a key that is gone. */
function withoutRenewed(
	db: Database,
	keys: readonly RowKey[],
	macs: RowMacs,
	misnamed: readonly Misnamed[],
): Misnamed[] {
	const changed = new Map(misnamed.filter(({ problem }) => problem === "changed").map((found) => [found.name, found]));
	if (changed.size === 0) return [...misnamed];
	const names = keys.map(({ id }) => Buffer.from(id).toString("hex"));
	for (const { table, name, mac, values } of rowsOf(db)) {
		const fingerprint = changed.get(name)?.fingerprint;
		if (fingerprint === undefined || !macs.fits(table, mac, values)) continue;
		const makers = names.filter((key) => isFingerprintBy(fingerprint, key));
		const isSame = makers.some((key) => fingerprintOf(macs.make(table, values, key)) === fingerprint);
		if (isSame || makers.length === 0) changed.delete(name);
	}
	return misnamed.filter(({ name, problem }) => problem !== "changed" || changed.has(name));
}

function fingerprintIf(macs: RowMacs, table: RowTable, mac: RowValue, values: RowValue[]): string | undefined {
	return Buffer.isBuffer(mac) && macs.fits(table, mac, values) ? fingerprintOf(mac) : undefined;
}

function countRows(db: Database): number {
	const counts = NAMED_TABLES.map((table) => `(SELECT count(*) FROM main.${table})`);
	return db
		.prepare(`SELECT ${counts.join(" + ")}`)
		.pluck()
		.get() as number;
}

/** Reads the events of a kind up to one of them, in order. */
function* eventsUpTo(db: Database, last: number, which: string, values: object): Generator<StoredEvent> {
	const part = db.prepare(`SELECT * FROM audit_event WHERE seq > @after AND seq <= @up_to AND ${which} ORDER BY seq`);
	for (let after = 0; after < last; after += SEGMENT)
		yield* part.all({ ...values, after, up_to: Math.min(after + SEGMENT, last) }) as StoredEvent[];
}

function newest(db: Database): number {
	return db.prepare("SELECT coalesce(max(seq), 0) FROM audit_event").pluck().get() as number;
}

/** Reads the rows that grant something. */
function grantingRows(db: Database): GrantingRows {
	const all = <Row>(columns: string, from: string) => db.prepare(`SELECT ${columns} FROM ${from}`).all() as Row[];
	return {
		accounts: all("id, instance_admin, disabled_at", "account"),
		realms: all("id, user_id, deleted_at", "realm"),
		bindings: all("realm_id, user_id, role", "binding"),
		tokens: all("id, user_id, scopes, realm_id, environment, engines, expires_at", "api_token"),
		configs: all("id, engine, realm_id", "engine_config WHERE state = 'active'"),
		providers: all("name, id", "sso_provider"),
		identities: all("id, user_id", "sso_identity"),
	};
}
