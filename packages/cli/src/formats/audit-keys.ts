import { hash } from "node:crypto";
import { type Answer, isAnswer } from "../client/answer.ts";

/** A reference of an event to the set of keys that it read. */
export interface KeySetRef {
	readonly realm_id: string;
	/** Slug. */
	readonly realm: string;
	/** SHA-256, hexadecimal. */
	readonly key_set: string;
}

/** The set of keys that an event of a bulk read refers to; undefined for other events. */
export function keySetOf(event: Answer): KeySetRef | undefined {
	const { realm_id, realm, data } = event;
	const key_set = typeof data === "string" ? factOf(data, "key_set") : undefined;
	if (typeof key_set !== "string" || typeof realm_id !== "string" || typeof realm !== "string") return undefined;
	return { realm_id, realm, key_set };
}

function factOf(data: string, name: string): unknown {
	try {
		const facts: unknown = JSON.parse(data);
		return isAnswer(facts) ? facts[name] : undefined;
	} catch {
		return undefined;
	}
}

/** Tells whether a line of an export is about keys: the parts of a set (`key_set`, `parts`), or the keys of a part (`key_part`, `keys`). */
export function isKeysLine(line: Answer): boolean {
	return line.key_set !== undefined || line.key_part !== undefined;
}

/** Tells whether a line about keys is what its hash says. The server computes it in the same way. */
export function isAuthentic({ key_set, parts, key_part, keys }: Answer): boolean {
	return key_set === undefined
		? isTexts(keys) && key_part === hash("sha256", `svc-audit-key-part-v1\n${inOrder(keys).join("\n")}`)
		: isTexts(parts) && key_set === hash("sha256", `svc-audit-key-set-v1\n${inOrder(parts).join("\n")}`);
}

function isTexts(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Byte order: keys and hashes are ASCII. */
function inOrder(texts: readonly string[]): string[] {
	return texts.toSorted((one, other) => (one < other ? -1 : Number(one > other)));
}
