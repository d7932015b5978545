import type { KeyPurpose, KeyRow } from "./keyring-model.ts";
import { type DataKey, dataKey } from "./seal.ts";
import { type SigningKey, signingKey } from "./signing-key.ts";

/** The keys of one purpose: the active one for new work, and all that old work may need. */
export interface KeySet<T> {
	readonly active: T;
	/** Keys by hexadecimal id, including the active one. */
	readonly byId: Map<string, T>;
}

/** A key for message authentication codes. */
export interface MacKey {
	/** Hexadecimal. */
	readonly id: string;
	/** 32 bytes. */
	readonly bytes: Buffer;
	/** Time when its successor took over; undefined while it is active. */
	readonly retired_at: Date | undefined;
}

/** The keys that belong to no realm. */
export interface SharedKeys {
	/** Seals records of the instance itself. */
	readonly record: KeySet<DataKey>;
	readonly portable: KeySet<DataKey>;
	readonly session: KeySet<MacKey>;
	readonly cursor: KeySet<MacKey>;
	readonly checkpoint: KeySet<SigningKey>;
	/** Undefined in a database from before its rows authenticated themselves. */
	readonly rows: KeySet<MacKey> | undefined;
}

/**
 * Opens the keys that belong to no realm.
 * @param unwrap returns the 32 bytes of a row's key, or throws
 * @throws Error when a purpose has no active key
 */
export function openShared(rows: KeyRow[], unwrap: (row: KeyRow) => Buffer): SharedKeys {
	return {
		record: openSet(rows, "record", unwrap, recordKey),
		portable: openSet(rows, "portable", unwrap, recordKey),
		session: openSet(rows, "session", unwrap, macKey),
		cursor: openSet(rows, "cursor", unwrap, macKey),
		checkpoint: openSet(rows, "checkpoint", unwrap, (row, seed) => signingKey(row.id, seed)),
		rows: rows.some(({ purpose }) => purpose === "rows") ? openSet(rows, "rows", unwrap, macKey) : undefined,
	};
}

/** Makes the row's key for sealing, and overwrites `bytes`. */
export function recordKey(row: KeyRow, bytes: Buffer): DataKey {
	const key = dataKey(row.id, bytes);
	bytes.fill(0);
	return key;
}

function macKey(row: KeyRow, bytes: Buffer, retired_at: Date | undefined): MacKey {
	return { id: row.id.toString("hex"), bytes, retired_at };
}

function openSet<T>(
	rows: KeyRow[],
	purpose: KeyPurpose,
	unwrap: (row: KeyRow) => Buffer,
	make: (row: KeyRow, bytes: Buffer, retired_at: Date | undefined) => T,
): KeySet<T> {
	const own = rows.filter((row) => row.purpose === purpose).toSorted(byAge);
	const byId = new Map<string, T>();
	for (const [index, row] of own.entries()) {
		const successor = own[index + 1];
		const retired_at = successor === undefined ? undefined : new Date(successor.created_at);
		byId.set(row.id.toString("hex"), make(row, unwrap(row), retired_at));
	}
	const last = own.at(-1);
	const active = last?.state === "active" ? byId.get(last.id.toString("hex")) : undefined;
	if (active === undefined) throw new Error(`the keyring has no active ${purpose} key`);
	return { active, byId };
}

/** Sorts the oldest first, and the active one last even if the clock was once set back. */
function byAge(a: KeyRow, b: KeyRow): number {
	if (a.state !== b.state) return a.state === "active" ? 1 : -1;
	return a.created_at < b.created_at ? -1 : 1;
}
