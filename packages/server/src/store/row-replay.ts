import { crc32 } from "node:zlib";
import type { Comparison } from "../audit/comparison.ts";
import { EventMakers, type MakerFacts, type Strange } from "../audit/event-makers.ts";
import type { StoredEvent } from "../audit/model.ts";
import { type Misnamed, NamedRows } from "../audit/named-rows.ts";
import { factsIn } from "../audit/stored-json.ts";
import { createRowMacs, type RowKey, type RowValue, valuesIn } from "../crypto/row-macs.ts";
import { system } from "../system.ts";
import type { RowTable } from "./row-kinds.ts";
import { fingerprintOf, isFingerprintBy, NAMED_TABLES, type NamedRow, naming, readNamed } from "./row-names.ts";

/** Rows that are remembered at a time, about 200 B each: with more, the log is read several times. */
const ROWS_A_PASS = 250_000;

/** Maximum number of events that are listed because their makers were not there, in one pass. */
const MAX_STRANGE = 1000;

/** Findings of one share of the names, or of all. */
export interface Named {
	misnamed: Misnamed[];
	strange: Strange[];
	from: Comparison["named_from"];
}

/** A row of a table that the log names. */
export interface CurrentRow {
	table: RowTable;
	mac: RowValue;
	/** The text that the MAC covers. */
	text: string;
}

/** Replay of the log against the current rows in the same state of the database. */
export interface RowReplay {
	/** Adds a current row; all come before the first event. */
	addRow(row: CurrentRow): void;
	/** Takes the next event. */
	take(event: StoredEvent): void;
	/** Names what differs. @param isRestored whether the database was restored, and its log does not say so yet */
	end(isRestored: boolean): Named;
}

/** Splits all names into shares whose rows are remembered together. @returns for each, what tells whether a name is in it */
export function sharesOf(rows: number, rows_a_pass = ROWS_A_PASS): ((name: string) => boolean)[] {
	const passes = Math.ceil(rows / rows_a_pass) || 1;
	return Array.from({ length: passes }, (_, pass) => (name) => passes === 1 || crc32(name) % passes === pass);
}

/** Joins the findings of all shares. */
export function joinNamed(found: readonly Named[]): Named {
	return {
		misnamed: found.flatMap(({ misnamed }) => misnamed),
		strange: found.flatMap(({ strange }) => strange),
		from: found.at(-1)?.from,
	};
}

/** Compares rows with their fingerprints in the log, and events with their makers: those of one share of the names. */
export function createRowReplay(keys: readonly RowKey[], isMine: (name: string) => boolean): RowReplay {
	const current: CurrentRows = { fingerprints: new Map(), others: new Map() };
	const named = new NamedRows(current.fingerprints);
	const makers = new EventMakers();
	const strange: Strange[] = [];
	return {
		addRow: rowAdder(current, keys, isMine),
		take(event) {
			const { seq, timestamp, type, data } = event;
			const isNaming = String(data).includes('"rows":"');
			if (named.from === undefined && !isNaming) return;
			const facts: (MakerFacts & { rows?: unknown }) | undefined = factsIn(data);
			if (facts === undefined) return;
			const rows = typeof facts.rows === "string" ? namedIn(facts.rows, isMine) : [];
			if (isNaming || type === "backup.restored") named.take(event, rows);
			if (named.from === undefined) return;
			for (const maker of makers.take(event, facts, rows, isMine))
				if (strange.length < MAX_STRANGE) strange.push({ seq, timestamp, type, ...maker });
		},
		end(isRestored) {
			if (isRestored) named.endRestored();
			return { misnamed: withoutRenewed(keys, current, named.differing()), strange, from: named.from };
		},
	};
}

const NAMINGS = new Map(NAMED_TABLES.map((table) => [table, naming(table)]));
const TABLES = new Set<string>(NAMED_TABLES);

function namedIn(rows: string, isMine: (name: string) => boolean): NamedRow[] {
	return readNamed(rows).filter(({ name }) => TABLES.has(name.slice(0, name.indexOf("/"))) && isMine(name));
}

/** Rows of one state of the database, by their names. */
interface CurrentRows {
	/** Undefined where the MAC does not fit. */
	fingerprints: Map<string, string | undefined>;
	/** Fingerprints that a row's values have under the keys that did not make its MAC: kept while there is more than one key. */
	others: Map<string, string[]>;
}

/** Makes the function that records everything about a row immediately: a moment later, a rotation may have ended, and the row with it. */
function rowAdder(
	{ fingerprints, others }: CurrentRows,
	keys: readonly RowKey[],
	isMine: (name: string) => boolean,
): RowReplay["addRow"] {
	const macs = createRowMacs(keys, system.randomBytes);
	const names = keys.map(nameOfKey);
	return ({ table, mac, text }) => {
		const name = NAMINGS.get(table)?.(valuesIn(text)) ?? "";
		if (!isMine(name)) return;
		const maker = macs.signed(mac, text)?.key;
		fingerprints.set(name, maker === undefined ? undefined : fingerprintOf(mac as Buffer));
		const more = maker === undefined ? [] : names.filter((key) => key !== maker);
		if (more.length > 0)
			others.set(
				name,
				more.map((key) => fingerprintOf(macs.make(text, key))),
			);
	};
}

/** Leaves out rows that have a MAC of another key, and are otherwise as they were; and those whose fingerprint is by a key that is gone. */
function withoutRenewed(
	keys: readonly RowKey[],
	{ fingerprints, others }: CurrentRows,
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
