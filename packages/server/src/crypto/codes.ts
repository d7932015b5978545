import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { System } from "../system.ts";
import type { KeySet, MacKey } from "./key-set.ts";

/** Purpose of a code; one for another purpose is never right. */
export type CodePurpose = "reset" | "invitation" | "recovery";

/** Dependencies of codes. */
export interface CodeNeeds {
	keyring: { session(): KeySet<MacKey> };
	system: Pick<System, "randomBytes">;
}

/** 192 bits. Design: §15 */
const CODE_BYTES = 24;

/** Characters of a recovery code, five bits each: no i, l, o or u, which people confuse. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 50 bits: a recovery code counts only after the password, and its guesses are counted. Design: §16 */
const RECOVERY_LENGTH = 10;

/** Makes recovery codes, shown once in two groups, and the digests that are kept of them. */
export function newRecoveryCodes({ keyring, system }: CodeNeeds, count: number): { codes: string[]; digests: Buffer } {
	const bare = Array.from({ length: count }, () =>
		[...system.randomBytes(RECOVERY_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join(""),
	);
	const key = keyring.session().active;
	const half = RECOVERY_LENGTH / 2;
	return {
		codes: bare.map((code) => `${code.slice(0, half)}-${code.slice(half)}`),
		digests: Buffer.concat(bare.map((code) => digestOf(key, "recovery", code))),
	};
}

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
