import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { System } from "../system.ts";
import type { KeySet, MacKey } from "./key-set.ts";

/** Purpose of a code; one for another purpose is never right. */
export type CodePurpose = "reset" | "invitation";

/** Dependencies of codes. */
export interface CodeNeeds {
	keyring: { session(): KeySet<MacKey> };
	system: Pick<System, "randomBytes">;
}

/** 192 bits. Design: §15 */
const CODE_BYTES = 24;

/** Makes a code, shown once, and the digest that is kept of it. */
export function newCode({ keyring, system }: CodeNeeds, purpose: CodePurpose): { code: string; digest: Buffer } {
	const code = system.randomBytes(CODE_BYTES).toString("base64url");
	return { code, digest: digestOf(keyring.session().active, purpose, code) };
}

/** Digests of a typed code under each key: a retired key still knows the codes made under it. */
export function digestsOf({ keyring }: Pick<CodeNeeds, "keyring">, purpose: CodePurpose, typed: string): Buffer[] {
	return [...keyring.session().byId.values()].map((key) => digestOf(key, purpose, typed.trim()));
}

/** Tells whether the kept digest is one of these, in the same time for any. */
export function isOneOf(digests: readonly Buffer[], kept: Buffer): boolean {
	let isFound = false;
	for (const digest of digests) isFound = timingSafeEqual(digest, kept) || isFound;
	return isFound;
}

/** Authenticates a code under a key of its purpose's own: a reader of the database can neither use nor try one. */
function digestOf({ bytes }: MacKey, purpose: CodePurpose, code: string): Buffer {
	const key = Buffer.from(hkdfSync("sha256", bytes, "", `svc code ${purpose}`, 32));
	return createHmac("sha256", key).update(code).digest();
}
