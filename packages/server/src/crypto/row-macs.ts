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

/** Authenticates rows, and the tip that counts them. Design: §13 */
export interface RowMacs {
	/** Makes a row's MAC: the key's id and 32 bytes. */
	make(table: string, values: readonly RowValue[]): Buffer;
	/** Tells whether a MAC is this row's. */
	fits(table: string, mac: unknown, values: readonly RowValue[]): boolean;
	/** A row's term in the sums: below 2^256, and stored nowhere. */
	term(table: string, values: readonly RowValue[]): bigint;
	/** Seals a tip. */
	seal(text: string): Buffer;
	/** Opens a tip; undefined when it was altered. */
	open(box: Buffer): string | undefined;
}

/** The keys that one key of the keyring gives. */
interface Derived {
	id: Buffer;
	mac: KeyObject;
	term: KeyObject;
	tip: DataKey;
}

const MAC_BYTES = 32;
const TIP = { label: "tip.sealed", realm_id: "", environment: "", name: "", row_id: "" };

/**
 * Makes the functions from the keyring's keys. MACs and tips name their key; terms are made with the first key alone, because a sum has no place for a
 * name: the writer sums up again when that key changes.
 * @param keys the active one first; without any, no row fits and no tip opens
 */
export function createRowMacs(keys: readonly RowKey[], randomBytes: RandomBytes): RowMacs {
	const all = keys.map(derive);
	const [active] = all;
	const activeKey = () => active ?? missing();
	const byId = (id: Buffer | undefined) => id && all.find((key) => key.id.equals(id));
	return {
		make: (table, values) => Buffer.concat([activeKey().id, digest(activeKey().mac, table, values)]),
		fits(table, mac, values) {
			if (!Buffer.isBuffer(mac) || mac.length !== KEY_ID_BYTES + MAC_BYTES) return false;
			const key = byId(mac.subarray(0, KEY_ID_BYTES));
			// Nobody who could measure it chooses the MAC and asks often: an ordinary comparison is enough.
			return key !== undefined && digest(key.mac, table, values).compare(mac, KEY_ID_BYTES) === 0;
		},
		term: (table, values) => BigInt(`0x${hmac(activeKey().term, table, values).digest("hex")}`),
		seal: (text) => sealRecord(activeKey().tip, TIP, Buffer.from(text), randomBytes),
		open(box) {
			const key = byId(keyIdOf(box));
			return key && openRecord(key.tip, TIP, box)?.toString();
		},
	};
}

function missing(): never {
	throw new Error("the keyring has no key for rows");
}

function derive(key: RowKey): Derived {
	const id = Buffer.from(key.id);
	return { id, mac: keyFor(key, "mac"), term: keyFor(key, "term"), tip: dataKey(id, bytesFor(key, "tip")) };
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
