import type { ChainEnd } from "../audit/chain.ts";
import { type RowMacs, type RowValue, valuesIn } from "../crypto/row-macs.ts";
import type { CacheName } from "../operation.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowSum, type RowTable } from "./row-kinds.ts";
import { fingerprintOf, NAMED_TABLES, naming, writeNamed } from "./row-names.ts";

/** Sums of the terms of all rows with a MAC of one key, modulo 2^256. */
export type RowSums = Readonly<Record<RowSum, bigint>>;

/** The sums of each key, by its name; a key that is not there has none. */
export type KeySums = ReadonlyMap<string, RowSums>;

/** The mark of each cache. A change that may invalidate remembered answers replaces it: what was read under a mark holds while the newest tip has it. */
export type Marks = Readonly<Partial<Record<CacheName, string>>>;

/** State of the rows' MACs as the running transaction has it. */
export interface RowState {
	/** Name of the key that new MACs are made with. */
	readonly active: string;
	readonly sums: KeySums;
	/** The newest id that a dated row ever had; undefined in a tip from before tips kept it. */
	readonly newest: string | undefined;
	/** Number of changes of the master key, and of keys that a server may remember, so of all but a realm's first one: a server with a lower number has older keys. */
	readonly keys: number;
	/** Undefined where no server shares the store, and none remembers answers under a mark. */
	readonly marks?: Marks | undefined;
}

/** State before the first row. */
export function noRows(active: string): RowState {
	return { active, sums: new Map(), newest: "", keys: 0 };
}

/** Name of the master key's fingerprint in `meta`. */
export const MASTER_KEY = "master_key_fingerprint";

/** Sums of no rows. */
export const NO_SUMS: RowSums = { access: 0n, content: 0n };

/** Receives each change of a row that the log names: its name, and the row as events name it. */
export type OnChange = (name: string, written: string) => void;

/** The rows' MACs in a connection's transactions. A row's text is the JSON that its MAC covers. */
export interface RowLedger {
	state(): RowState;
	/** Returns to an earlier state, after a rollback. */
	rewind(state: RowState): void;
	/** Counts the changes of rows that grant access so far, also those that were rolled back. */
	accessChanges(): number;
	/** Counts a new row. @returns its MAC */
	enter(table: RowTable, text: string): Buffer;
	/** Takes a row that has ended out of the sums. */
	leave(table: RowTable, mac: RowValue, text: string): void;
	/** Counts a changed row. @returns its MAC; null for a row whose MAC was wrong, so that a change of one column never blesses the others */
	change(table: RowTable, mac: RowValue, before: string, text: string): Buffer | null;
	/** Renews a row's MAC under the active key; one that was wrong stays as it is. */
	renew(table: RowTable, mac: RowValue, text: string): RowValue;
	/** Tells whether rows still have MACs of a key, by its name. */
	isCounted(key: string): boolean;
}

/** Makes the ledger. A new key for rows takes over with its own row in the keyring. */
export function createRowLedger(macs: RowMacs, start: RowState, onChange: OnChange): RowLedger {
	let state = start;
	let accessChanges = 0;
	const tell = telling(onChange);
	const date = dating();
	const count = (table: RowTable, key: string, term: bigint) => {
		const { sum } = ROW_KINDS[table];
		if (sum === "access") accessChanges++;
		state = { ...state, sums: addTerm(state.sums, key, sum, term) };
	};
	const countKey = (table: RowTable, text: string, isNew: boolean) => {
		if (mayBeRemembered(table, text, isNew)) state = { ...state, keys: state.keys + 1 };
	};
	const sign = (table: RowTable, text: string) => {
		const { mac, term } = macs.sign(text, state.active);
		count(table, state.active, term);
		return mac;
	};
	const enter = (table: RowTable, text: string) => {
		const key = keyIn(table, text);
		if (key !== undefined) state = { ...state, active: key };
		countKey(table, text, true);
		const id = date(table, text);
		if (id !== undefined && state.newest !== undefined && id > state.newest) state = { ...state, newest: id };
		const mac = sign(table, text);
		tell(table, text, mac);
		return mac;
	};
	const uncount = (table: RowTable, mac: RowValue, text: string) => {
		const found = macs.signed(mac, text);
		if (found !== undefined) count(table, found.key, -found.term);
		return found !== undefined;
	};
	return {
		state: () => state,
		rewind(to) {
			state = to;
		},
		accessChanges: () => accessChanges,
		enter,
		leave(table, mac, text) {
			uncount(table, mac, text);
			countKey(table, text, false);
			tell(table, text, undefined);
		},
		change(table, mac, before, text) {
			if (!uncount(table, mac, before)) return null;
			countKey(table, text, false);
			return enter(table, text);
		},
		renew: (table, mac, text) => (uncount(table, mac, text) ? sign(table, text) : mac),
		isCounted(key) {
			const { access, content } = state.sums.get(key) ?? NO_SUMS;
			return access !== 0n || content !== 0n;
		},
	};
}

/** Tells whether a row that changes is of a key that a server may remember, or names the master key. */
function mayBeRemembered(table: RowTable, text: string, isNew: boolean): boolean {
	if (table === "meta") return valuesIn(text)[coveredColumns("meta").indexOf("name")] === MASTER_KEY;
	return table === "keyring" && !(isNew && keyColumn(valuesIn(text), "realm_id") !== "");
}

/** Makes the function that reports changes of rows that the log names. */
function telling(onChange: OnChange) {
	const names = new Map(NAMED_TABLES.map((table) => [table, naming(table)]));
	return (table: RowTable, text: string, mac: Buffer | undefined) => {
		const name = names.get(table)?.(valuesIn(text));
		if (name !== undefined) onChange(name, writeNamed({ name, fingerprint: mac && fingerprintOf(mac) }));
	};
}

/** Makes the function that finds the id of a dated row; undefined for any other row. */
function dating() {
	const places = new Map<RowTable, number>();
	for (const table of Object.keys(ROW_KINDS) as RowTable[]) {
		const { dated }: RowKind = ROW_KINDS[table];
		if (dated !== undefined) places.set(table, coveredColumns(table).indexOf(dated));
	}
	return (table: RowTable, text: string): string | undefined => {
		const place = places.get(table);
		return place === undefined ? undefined : String(valuesIn(text)[place]);
	};
}

/** Adds a term to the sums of a key. */
export function addTerm(sums: KeySums, key: string, sum: RowSum, term: bigint): KeySums {
	const before = sums.get(key) ?? NO_SUMS;
	return new Map(sums).set(key, { ...before, [sum]: BigInt.asUintN(256, before[sum] + term) });
}

/** Names the key for rows that a row of the keyring makes the active one; undefined for any other row. */
function keyIn(table: RowTable, text: string): string | undefined {
	if (table !== "keyring") return undefined;
	const values = valuesIn(text);
	const id = keyColumn(values, "id");
	const isActive = keyColumn(values, "purpose") === "rows" && keyColumn(values, "state") === "active";
	return isActive && Buffer.isBuffer(id) ? id.toString("hex") : undefined;
}

/** Finds a column of a row of the keyring. */
function keyColumn(values: readonly RowValue[], column: string): RowValue | undefined {
	return values[coveredColumns("keyring").indexOf(column)];
}

/** End of the log and state of the rows, as one transaction left them. */
export interface Tip extends ChainEnd {
	rows: RowState;
}

type SumTexts = Record<RowSum, string>;

/** The rows' part of a tip as text: the sums of the key that seals it, and those of each former key that are not zero. */
interface RowsText extends SumTexts {
	former?: Record<string, SumTexts>;
	newest?: string;
	keys?: number;
	marks?: Marks;
}

/** A tip in one part as text. */
interface TipText extends RowsText {
	seq: number;
	hash: string;
}

/** Seals a tip with the active key for rows. */
export function sealTip(tip: Tip, macs: RowMacs): Buffer {
	return macs.seal(textOf(tip), tip.rows.active);
}

/** First byte of a tip in two parts. Another tip begins with the suite of its box. */
const IN_TWO_PARTS = 2;
/** Places of a tip in two parts: its MAC, the number and the hash of the newest event, and the box of the rows. */
const [MAC_AT, SEQ_AT, HASH_AT, BOX_AT] = [1, 41, 49, 81];

/**
 * Makes the function that seals the tips of one writer. While transactions only add events, it seals the rows once, and a MAC binds each end of the log
 * to them, in a sixth of the time.
 */
export function tipSealer(macs: RowMacs): (tip: Tip) => Buffer {
	let last: { rows: RowState; box: Buffer | undefined } | undefined;
	return (tip) => {
		const { seq, hash, rows } = tip;
		if (last?.rows !== rows) {
			last = { rows, box: undefined };
			return sealTip(tip, macs);
		}
		last.box ??= macs.seal(JSON.stringify(textsOfRows(rows)), rows.active);
		const end = Buffer.allocUnsafe(HASH_AT - SEQ_AT);
		end.writeBigUInt64BE(BigInt(seq));
		const mac = macs.make(boundText(seq, hash, last.box), rows.active);
		return Buffer.concat([Buffer.of(IN_TWO_PARTS), mac, end, hash, last.box]);
	};
}

/** Writes the text that a tip's MAC covers. No row's text, which is JSON, begins like it. */
function boundText(seq: number, hash: Buffer, box: Buffer): string {
	return `tip ${seq} ${hash.toString("hex")} ${box.toString("hex")}`;
}

/** Opens a tip; undefined when it was altered. */
export function openTipBox(stored: Buffer, macs: RowMacs): Tip | undefined {
	const parts = stored[0] === IN_TWO_PARTS ? openParts(stored, macs) : undefined;
	const opened = macs.open(parts?.box ?? stored);
	if (opened === undefined) return undefined;
	const text = JSON.parse(opened.text) as RowsText | TipText;
	const end = parts ?? ("seq" in text ? { seq: text.seq, hash: Buffer.from(text.hash, "hex") } : undefined);
	// The box of the rows alone, without what binds it to the log.
	if (end === undefined) return undefined;
	return { seq: end.seq, hash: end.hash, rows: rowsIn(text, opened.key) };
}

function rowsIn({ newest, keys = 0, marks, former = {}, access, content }: RowsText, active: string): RowState {
	const sums = Object.entries({ ...former, [active]: { access, content } });
	return { active, sums: new Map(sums.map(([key, texts]) => [key, sumsIn(texts)])), newest, keys, marks };
}

function openParts(stored: Buffer, macs: RowMacs): (ChainEnd & { box: Buffer }) | undefined {
	if (stored.length < BOX_AT) return undefined;
	const seq = Number(stored.readBigUInt64BE(SEQ_AT));
	const [hash, box] = [stored.subarray(HASH_AT, BOX_AT), stored.subarray(BOX_AT)];
	return macs.fits(stored.subarray(MAC_AT, SEQ_AT), boundText(seq, hash, box)) ? { seq, hash, box } : undefined;
}

/**
 * Finds the sums that are not those of the tip. It compares the sums of every key, also of one that is in the keyring no more: what its rows left behind
 * is not zero when one was put back or taken away. A tip without a newest id counted some tables in the other sum, so both are compared as one.
 */
export function differingSums(found: KeySums, { sums, newest }: RowState): Record<RowSum, boolean> {
	const differs = (part: (sums: RowSums) => bigint) =>
		[...found.keys(), ...sums.keys()].some((key) => part(found.get(key) ?? NO_SUMS) !== part(sums.get(key) ?? NO_SUMS));
	if (newest === undefined)
		return { access: differs(({ access, content }) => BigInt.asUintN(256, access + content)), content: false };
	return { access: differs(({ access }) => access), content: differs(({ content }) => content) };
}

function textOf({ seq, hash, rows }: Tip): string {
	return JSON.stringify({ seq, hash: hash.toString("hex"), ...textsOfRows(rows) } satisfies TipText);
}

function textsOfRows({ active, sums, newest, keys, marks }: RowState): RowsText {
	const former = [...sums].filter(([key, { access, content }]) => key !== active && (access !== 0n || content !== 0n));
	const text: RowsText = textsOf(sums.get(active));
	if (newest !== undefined) text.newest = newest;
	if (keys > 0) text.keys = keys;
	if (marks !== undefined) text.marks = marks;
	if (former.length > 0) text.former = Object.fromEntries(former.map(([key, own]) => [key, textsOf(own)]));
	return text;
}

function sumsIn({ access, content }: SumTexts): RowSums {
	return { access: BigInt(`0x${access}`), content: BigInt(`0x${content}`) };
}

function textsOf({ access, content }: RowSums = NO_SUMS): SumTexts {
	return { access: access.toString(16), content: content.toString(16) };
}
