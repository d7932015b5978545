import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
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

/** Authenticates rows, and the tip that counts them. Keys are named by their id in hexadecimal. Design: §13 */
export interface RowMacs {
	/** The key for new MACs; empty without keys. */
	readonly active: string;
	/** Makes a row's MAC under a key: the key's id and 32 bytes. */
	make(table: string, values: readonly RowValue[], key?: string): Buffer;
	/** Finds the key that made a row's MAC; undefined when it is not this row's. */
	keyOf(table: string, mac: unknown, values: readonly RowValue[]): string | undefined;
	/** Tells whether a MAC is this row's. */
	fits(table: string, mac: unknown, values: readonly RowValue[]): boolean;
	/** A row's term in the sums of a key: below 2^256, and stored nowhere. */
	term(table: string, values: readonly RowValue[], key?: string): bigint;
	/** Seals a tip under a key. */
	seal(text: string, key?: string): Buffer;
	/** Opens a tip, and says which key sealed it; undefined when it was altered. */
	open(box: Buffer): { text: string; key: string } | undefined;
}

/** The keys that one key of the keyring gives. */
interface Derived {
	id: Buffer;
	name: string;
	mac: KeyObject;
	term: KeyObject;
	tip: DataKey;
}

const MAC_BYTES = 32;
const TIP = { label: "tip.sealed", realm_id: "", environment: "", name: "", row_id: "" };

/**
 * Makes the functions from the keyring's keys. MACs and tips name their key; terms have no place for a name, so each key has sums of its own.
 * @param keys the active one first; without any, no row fits and no tip opens
 */
export function createRowMacs(keys: readonly RowKey[], randomBytes: RandomBytes): RowMacs {
	const all = keys.map(derive);
	const active = all[0]?.name ?? "";
	const named = (name: string) => all.find((key) => key.name === name) ?? missing();
	const byId = (id: Buffer | undefined) => id && all.find((key) => key.id.equals(id));
	const keyOf: RowMacs["keyOf"] = (table, mac, values) => {
		if (!Buffer.isBuffer(mac) || mac.length !== KEY_ID_BYTES + MAC_BYTES) return undefined;
		const key = byId(mac.subarray(0, KEY_ID_BYTES));
		// Nobody who could measure it chooses the MAC and asks often: an ordinary comparison is enough.
		return key !== undefined && digest(key.mac, table, values).compare(mac, KEY_ID_BYTES) === 0 ? key.name : undefined;
	};
	return {
		active,
		make(table, values, name = active) {
			const key = named(name);
			return Buffer.concat([key.id, digest(key.mac, table, values)]);
		},
		keyOf,
		fits: (table, mac, values) => keyOf(table, mac, values) !== undefined,
		term: (table, values, name = active) => BigInt(`0x${hmac(named(name).term, table, values).digest("hex")}`),
		seal: (text, name = active) => sealRecord(named(name).tip, TIP, Buffer.from(text), randomBytes),
		open(box) {
			const key = byId(keyIdOf(box));
			if (key === undefined) return undefined;
			const text = openRecord(key.tip, TIP, box)?.toString();
			return text === undefined ? undefined : { text, key: key.name };
		},
	};
}

function missing(): never {
	throw new Error("the keyring has no key for rows");
}

function derive(key: RowKey): Derived {
	const id = Buffer.from(key.id);
	const tip = dataKey(id, bytesFor(key, "tip"));
	return { id, name: id.toString("hex"), mac: keyFor(key, "mac"), term: keyFor(key, "term"), tip };
}

function keyFor(key: RowKey, use: string): KeyObject {
	return createSecretKey(bytesFor(key, use));
}

function bytesFor({ bytes }: RowKey, use: string): Buffer {
	return Buffer.from(hkdfSync("sha256", bytes, "", `svc rows ${use} v1`, MAC_BYTES));
}

function digest(key: KeyObject, table: string, values: readonly RowValue[]): Buffer {
	return hmac(key, table, values).digest();
}

/** Writes a row as JSON, in which no two rows have the same text. */
function hmac(key: KeyObject, table: string, values: readonly RowValue[]) {
	return createHmac("sha256", key).update(JSON.stringify([table, values.map(plain)]));
}

/** Writes a value so that JSON keeps it apart from all others: for an infinite number it has null. */
function plain(value: RowValue): unknown {
	if (Buffer.isBuffer(value)) return [value.toString("hex")];
	return typeof value === "number" && !Number.isFinite(value) ? [String(value)] : value;
}
