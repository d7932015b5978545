import { hash } from "node:crypto";

/** A part of a set of keys. */
export interface KeyPart {
	/** SHA-256 of the keys, hexadecimal. */
	hash: string;
	/** The keys in byte order, one a line; undefined when the part is stored already. */
	keys: string | undefined;
}

/** The set of the keys that a bulk read names. */
export interface KeySet {
	/** SHA-256 of its parts' hashes, hexadecimal. */
	hash: string;
	parts: readonly KeyPart[];
}

/** The content of a set of keys, or of a part. */
export interface NamedKeys {
	/** Hashes of a set's parts, in their order. */
	parts?: string[];
	/** Keys of a part, in byte order. */
	keys?: string[];
}

/** Maximum number of keys in a part: one that would hold more is two, with half as many on average. */
export const MAX_PART_KEYS = 384;

const PART_LABEL = "svc-audit-key-part-v1";
const SET_LABEL = "svc-audit-key-set-v1";

/** Byte order: keys and hashes are ASCII. */
const inOrder = (one: string, other: string) => (one < other ? -1 : Number(one > other));

/** Hashes the keys of a part, given one a line in byte order. No key contains a line break. */
export function partHash(keys: string): string {
	return hash("sha256", `${PART_LABEL}\n${keys}`);
}

/** Hashes a set by the hashes of its parts, in any order. */
export function setHash(parts: readonly string[]): string {
	return hash("sha256", `${SET_LABEL}\n${parts.toSorted(inOrder).join("\n")}`);
}

/**
 * Divides a set of keys into parts by the leading bits of each key's hash, as few as hold all: a key more or less changes one part, wherever it is,
 * also when somebody chose the keys. Design: §10
 * @param keys in any order; one may occur twice
 */
export function keySetOf(keys: Iterable<string>): KeySet {
	const parts = divided([...new Set(keys)]).map((part) => {
		const text = part.toSorted(inOrder).join("\n");
		return { hash: partHash(text), keys: text };
	});
	return { hash: setHash(parts.map((part) => part.hash)), parts };
}

function divided(keys: readonly string[]): string[][] {
	if (keys.length <= MAX_PART_KEYS) return [[...keys]];
	const hashed = keys.map((key) => ({ key, bits: hash("sha256", key, "buffer") }));
	return halves(hashed, 0).map((part) => part.map(({ key }) => key));
}

type Hashed = { key: string; bits: Buffer };

/** @param depth leading bits in which all of them agree */
function halves(keys: Hashed[], depth: number): Hashed[][] {
	if (keys.length === 0) return [];
	if (keys.length <= MAX_PART_KEYS) return [keys];
	const isSet = ({ bits }: Hashed) => (((bits[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1) === 1;
	const { true: ones = [], false: zeros = [] } = Object.groupBy(keys, (key) => (isSet(key) ? "true" : "false"));
	return [...halves(zeros, depth + 1), ...halves(ones, depth + 1)];
}
