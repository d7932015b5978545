import { crc32 } from "node:zlib";
import type { Database } from "better-sqlite3";
import type { Comparison } from "../../audit/comparison.ts";
import { EventMakers, type MakerFacts, type Strange } from "../../audit/event-makers.ts";
import { type Misnamed, NamedRows } from "../../audit/named-rows.ts";
import { createRowMacs, type RowKey, type RowMacs, type RowValue } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { coveredColumns, type RowTable } from "../row-kinds.ts";
import { fingerprintOf, isFingerprintBy, NAMED_TABLES, type NamedRow, naming, readNamed } from "../row-names.ts";
import { eventsUpTo, newest } from "./log-segments.ts";

/** Rows that are remembered at a time, about 200 B each: with more, the log is read several times. */
const ROWS_A_PASS = 250_000;

/** Maximum number of events that are listed because their makers were not there, in one pass. */
const MAX_STRANGE = 1000;

/** Findings of one share of the names, or of all. */
interface Named {
	misnamed: Misnamed[];
	strange: Strange[];
	from: Comparison["named_from"];
}

/** Compares rows with their fingerprints in the log, and events with who was there: those of one share of all names at a time. */
export function compareNames(db: Database, keys: readonly RowKey[], rows_a_pass = ROWS_A_PASS): Named {
	const passes = Math.ceil(countRows(db) / rows_a_pass) || 1;
	const macs = createRowMacs(keys, system.randomBytes);
	const found: Named = { misnamed: [], strange: [], from: undefined };
	for (let pass = 0; pass < passes; pass++) {
		const isMine = (name: string) => passes === 1 || crc32(name) % passes === pass;
		const { rows, last, isRestored } = db.transaction(() => ({
			rows: standingRows(db, macs, isMine),
			last: newest(db),
			isRestored: db.prepare("SELECT 1 FROM main.meta WHERE name = 'restore_to_tell'").get() !== undefined,
		}))();
		const named = new NamedRows(rows);
		found.strange.push(...replay(db, named, last, isMine));
		if (isRestored) named.endRestored();
		found.misnamed.push(...withoutRenewed(db, keys, macs, [...named.differing()]));
		found.from = named.from;
	}
	return found;
}

/** Passes the log to the rows that it names, and finds events whose makers were not there. */
function replay(db: Database, named: NamedRows, last: number, isMine: (name: string) => boolean): Strange[] {
	const makers = new EventMakers();
	const strange: Strange[] = [];
	for (const event of eventsUpTo(db, last, "true", {})) {
		const { seq, timestamp, type, data } = event;
		const isNaming = data.includes('"rows":"');
		if (named.from === undefined && !isNaming) continue;
		const facts = JSON.parse(data) as MakerFacts & { rows?: unknown };
		const rows = typeof facts.rows === "string" ? namedIn(facts.rows, isMine) : [];
		if (isNaming || type === "backup.restored") named.take(event, rows);
		if (named.from === undefined) continue;
		for (const maker of makers.take(event, facts, rows, isMine))
			if (strange.length < MAX_STRANGE) strange.push({ seq, timestamp, type, ...maker });
	}
	return strange;
}

const TABLES = new Set<string>(NAMED_TABLES);

function namedIn(rows: string, isMine: (name: string) => boolean): NamedRow[] {
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
