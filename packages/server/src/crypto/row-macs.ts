import { createHmac, hash, hkdfSync } from "node:crypto";
import { type DataKey, dataKey, KEY_ID_BYTES, keyIdOf, openRecord, type RandomBytes, sealRecord } from "./seal.ts";

/** A column's value, as SQLite has it. */
export type RowValue = string | number | bigint | null | Buffer;

/** A key of the keyring's purpose `rows`. It may cross to another thread. */
export interface RowKey {
	/** 8 bytes. */
	id: Uint8Array;
	/** 32 bytes. */
	bytes: Uint8Array;
}

/** Authenticates rows, and the tip that counts them. Keys are named by their id in hexadecimal. Until there are keys, every use throws. Design: §13 */
export interface RowMacs {
	/** The key for new MACs; empty without keys. */
	readonly active: string;
	/** All keys, in one text. */
	readonly names: string;
	/** Replaces the keys. @param keys the active one first */
	use(keys: readonly RowKey[]): void;
	/** Makes the MAC of a row's text under a key: the key's id and 32 bytes. */
	make(text: string, key?: string): Buffer;
	/** Returns the MAC that a row has under the active key; null without keys. */
	usual(text: string): Buffer | null;
	/** Makes a row's MAC under a key, and its term in the sums of that key. */
	sign(text: string, key?: string): { mac: Buffer; term: bigint };
	/** Finds the key that made a row's MAC, and the row's term in its sums; undefined when it is not this row's. */
	signed(mac: unknown, text: string): { key: string; term: bigint } | undefined;
	/** Tells whether a MAC is this row's. */
	fits(mac: unknown, text: string): boolean;
	/** Seals a tip under a key. */
	seal(text: string, key?: string): Buffer;
	/** Opens a tip, and says which key sealed it; undefined when it was altered. */
	open(box: Buffer): { text: string; key: string } | undefined;
}

/** The keys that one key of the keyring gives. */
interface Derived {
	id: Buffer;
	name: string;
	/** MAC of a row's text, with the key's id before it. */
	mac: (text: string) => Buffer;
	/** The same, remembered for reads. */
	known: (text: string) => Buffer;
	/** Term of a row's text in the key's sums: below 2^256, and stored nowhere. */
	term: (text: string) => bigint;
	tip: DataKey;
}

const MAC_BYTES = 32;

/** MACs remembered for reads, and length of the texts that are worth it: a megabyte at most. */
const MAX_KNOWN = 2048;
const MAX_KNOWN_TEXT = 512;

const TIP = { label: "tip.sealed", realm_id: "", environment: "", name: "", row_id: "" };

/**
 * Makes the functions from the keyring's keys. MACs and tips name their key; terms have no place for a name, so each key has sums of its own.
 * @param keys the active one first; without any, no row fits and no tip opens; undefined when they come later
 */
export function createRowMacs(keys: readonly RowKey[] | undefined, randomBytes: RandomBytes): RowMacs {
	let derived = keys?.map(derive);
	const all = () => derived ?? tooEarly();
	const active = () => all()[0]?.name ?? "";
	const named = (name: string) => all().find((key) => key.name === name) ?? missing();
	const keyOf = (mac: unknown, text: string, use: "mac" | "known") => {
		const keys = all();
		if (!Buffer.isBuffer(mac) || mac.length !== KEY_ID_BYTES + MAC_BYTES) return undefined;
		const key = byId(keys, mac);
		// Nobody who could measure it chooses the MAC and asks often: an ordinary comparison is enough.
		return key?.[use](text).equals(mac) ? key : undefined;
	};
	return {
		get active() {
			return active();
		},
		get names() {
			return all()
				.map(({ name }) => name)
				.join(" ");
		},
		use(keys) {
			derived = keys.map(derive);
		},
		make: (text, name = active()) => named(name).mac(text),
		usual: (text) => all()[0]?.known(text) ?? null,
		sign(text, name = active()) {
			const key = named(name);
			return { mac: key.mac(text), term: key.term(text) };
		},
		signed(mac, text) {
			const key = keyOf(mac, text, "mac");
			return key && { key: key.name, term: key.term(text) };
		},
		fits: (mac, text) => keyOf(mac, text, "known") !== undefined,
		seal: (text, name = active()) => sealRecord(named(name).tip, TIP, Buffer.from(text), randomBytes),
		open(box) {
			const keys = all();
			const id = keyIdOf(box);
			const key = id && byId(keys, id);
			if (key === undefined) return undefined;
			const text = openRecord(key.tip, TIP, box)?.toString();
			return text === undefined ? undefined : { text, key: key.name };
		},
	};
}

/** Names the key that a MAC says it was made with. */
export function keyOfMac(mac: Buffer): string {
	return mac.toString("hex", 0, KEY_ID_BYTES);
}

/** Finds the key that the first bytes name. */
function byId(keys: readonly Derived[], bytes: Buffer): Derived | undefined {
	return keys.find(({ id }) => id.compare(bytes, 0, KEY_ID_BYTES) === 0);
}

function missing(): never {
	throw new Error("the keyring has no key for rows");
}

function tooEarly(): never {
	throw new Error("the store has no keys for its rows yet");
}

function derive(key: RowKey): Derived {
	const id = Buffer.from(key.id);
	const name = id.toString("hex");
	const [macOf, termOf] = [shortHmac(bytesFor(key, "mac")), shortHmac(bytesFor(key, "term"))];
	const mac = (text: string) => Buffer.from(name + macOf(text), "hex");
	return {
		id,
		name,
		mac,
		known: remembered(mac),
		term: (text) => BigInt(`0x${termOf(text)}`),
		tip: dataKey(id, bytesFor(key, "tip")),
	};
}

function bytesFor({ bytes }: RowKey, use: string): Buffer {
	return Buffer.from(hkdfSync("sha256", bytes, "", `svc rows ${use} v1`, MAC_BYTES));
}

/**
 * Remembers the MACs of the rows that were read last, such as those of who may write. To remember one takes twice as long as to make it, so those that a
 * write makes are not worth it.
 */
function remembered(answer: (text: string) => Buffer): (text: string) => Buffer {
	const known = new Map<string, Buffer>();
	return (text) => {
		const found = known.get(text);
		if (found !== undefined) return found;
		const made = answer(text);
		if (known.size >= MAX_KNOWN) known.clear();
		if (text.length <= MAX_KNOWN_TEXT) known.set(text, made);
		return made;
	};
}

/** Writes a row's text: JSON of the table and the values, with bytes in hexadecimal, in an array of their own. */
export function rowTextOf(table: string, values: readonly RowValue[]): string {
	return JSON.stringify([table, values.map((value) => (Buffer.isBuffer(value) ? [value.toString("hex")] : value))]);
}

/** Reads the values from a row's text. */
export function valuesIn(text: string): RowValue[] {
	const [, values] = JSON.parse(text) as [table: string, values: (Exclude<RowValue, Buffer> | [hex: string])[]];
	return values.map((value) => (Array.isArray(value) ? Buffer.from(value[0], "hex") : value));
}

/** Bytes of a block of SHA-256, and of its digest. */
const BLOCK = 64;
const DIGEST = 32;

/** Longest text, in UTF-16 units, that is hashed in one step: UTF-8 needs up to three bytes for each. */
const MAX_SHORT = 2048;

/** Inner and outer input of an HMAC. Each call overwrites them, and none waits for anything between writing and reading. */
const inner = Buffer.alloc(BLOCK + 3 * MAX_SHORT);
const outer = Buffer.alloc(BLOCK + DIGEST);

/**
 * Makes HMAC-SHA-256 under a key of at most 64 bytes. For short texts it hashes twice in one step each, in half the time of Node's
 * Hmac, which is a stream. @returns a function from a text to 64 hexadecimal digits. Source: RFC 2104
 */
export function shortHmac(key: Buffer): (text: string) => string {
	const innerKey = padded(key, 0x36);
	const outerKey = padded(key, 0x5c);
	return (text) => {
		if (text.length > MAX_SHORT) return createHmac("sha256", key).update(text).digest("hex");
		innerKey.copy(inner);
		const end = BLOCK + inner.write(text, BLOCK);
		outerKey.copy(outer);
		outer.write(hash("sha256", inner.subarray(0, end), "latin1"), BLOCK, "latin1");
		return hash("sha256", outer, "hex");
	};
}

function padded(key: Buffer, pad: number): Buffer {
	return Buffer.alloc(BLOCK).map((_, at) => (key[at] ?? 0) ^ pad) as Buffer;
}
