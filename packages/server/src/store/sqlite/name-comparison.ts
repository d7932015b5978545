import { crc32 } from "node:zlib";
import type { Database } from "better-sqlite3";
import type { Comparison } from "../../audit/comparison.ts";
import { EventMakers, type MakerFacts, type Strange } from "../../audit/event-makers.ts";
import { type Misnamed, NamedRows } from "../../audit/named-rows.ts";
import { createRowMacs, type RowKey, type RowMacs, type RowValue, valuesIn } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { fingerprintOf, isFingerprintBy, NAMED_TABLES, type NamedRow, naming, readNamed } from "../row-names.ts";
import { eventsUpTo, newest } from "./log-segments.ts";
import { rowText } from "./row-text.ts";

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
			rows: standingRows(db, keys, macs, isMine),
			last: newest(db),
			isRestored: db.prepare("SELECT 1 FROM main.meta WHERE name = 'restore_to_tell'").get() !== undefined,
		}))();
		const named = new NamedRows(rows.fingerprints);
		found.strange.push(...replay(db, named, last, isMine));
		if (isRestored) named.endRestored();
		found.misnamed.push(...withoutRenewed(keys, rows, named.differing()));
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

/** Rows of one state of the database, by their names. */
interface Standing {
	/** Undefined where the MAC does not fit. */
	fingerprints: Map<string, string | undefined>;
	/** Fingerprints that a row's values have under the keys that did not make its MAC: kept while there is more than one key. */
	others: Map<string, string[]>;
}

/** Reads all that is asked of a row at once: a moment later, a rotation may have ended, and the row with it. */
function standingRows(
	db: Database,
	keys: readonly RowKey[],
	macs: RowMacs,
	isMine: (name: string) => boolean,
): Standing {
	const standing: Standing = { fingerprints: new Map(), others: new Map() };
	const names = keys.map(nameOfKey);
	for (const { name, mac, text } of rowsOf(db)) {
		if (!isMine(name)) continue;
		const maker = macs.signed(mac, text)?.key;
		standing.fingerprints.set(name, maker === undefined ? undefined : fingerprintOf(mac as Buffer));
		const others = maker === undefined ? [] : names.filter((key) => key !== maker);
		if (others.length > 0)
			standing.others.set(
				name,
				others.map((key) => fingerprintOf(macs.make(text, key))),
			);
	}
	return standing;
}

/** A row of a table that the log names. */
interface StoredRow {
	name: string;
	mac: RowValue;
	/** The text that the MAC covers. */
	text: string;
}

function* rowsOf(db: Database): Generator<StoredRow> {
	for (const table of NAMED_TABLES) {
		const nameOf = naming(table);
		const rows = db.prepare(`SELECT mac, ${rowText(table)} FROM main.${table}`).raw();
		for (const [mac, text] of rows.iterate() as IterableIterator<[mac: RowValue, text: string]>)
			yield { name: nameOf(valuesIn(text)), mac, text };
	}
}

/** Leaves out rows that have a MAC of another key, and are otherwise as they were; and those whose fingerprint is by a key that is gone. */
function withoutRenewed(
	keys: readonly RowKey[],
	{ fingerprints, others }: Standing,
	misnamed: Iterable<Misnamed>,
): Misnamed[] {
	const names = keys.map(nameOfKey);
	const isRenewed = ({ name, problem, fingerprint }: Misnamed) =>
		problem === "changed" &&
		fingerprint !== undefined &&
		fingerprints.get(name) !== undefined &&
		(others.get(name)?.includes(fingerprint) || !names.some((key) => isFingerprintBy(fingerprint, key)));
	return [...misnamed].filter((found) => !isRenewed(found));
}

const nameOfKey = ({ id }: RowKey) => Buffer.from(id).toString("hex");

function countRows(db: Database): number {
	const counts = NAMED_TABLES.map((table) => `(SELECT count(*) FROM main.${table})`);
	return db
		.prepare(`SELECT ${counts.join(" + ")}`)
		.pluck()
		.get() as number;
}
