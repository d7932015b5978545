import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import test from "node:test";
import { type CodeNeeds, type CodePurpose, digestsOf, isOneOf, newCode, newRecoveryCodes } from "./codes.ts";
import type { MacKey } from "./key-set.ts";

const PURPOSES: readonly CodePurpose[] = ["reset", "invitation", "recovery"];

/** Makes the dependencies of codes, where every random byte is 7: two codes are the same, and so only their digests may differ. */
function needsWith(...fills: number[]): CodeNeeds {
	const keys = fills.map((fill): MacKey => ({ id: `${fill}`, bytes: Buffer.alloc(32, fill), retired_at: undefined }));
	const [active] = keys;
	assert.ok(active);
	return {
		keyring: { session: () => ({ active, byId: new Map(keys.map((key) => [key.id, key])) }) },
		system: { randomBytes: (size) => Buffer.alloc(size, 7) },
	};
}

const hex = (digests: readonly Buffer[]) => digests.map((digest) => digest.toString("hex"));

test("the stored digest of a code is none that a reader of the database can compute, and differs by key and purpose", () => {
	const made = PURPOSES.map((purpose) => newCode(needsWith(1), purpose));
	const [{ code } = assert.fail("no code")] = made;
	assert.match(code, /^[\w-]{32}$/);
	const others = PURPOSES.map((purpose) => newCode(needsWith(2), purpose));
	const plain = [
		createHash("sha256").update(code).digest(),
		createHmac("sha256", Buffer.alloc(32, 1)).update(code).digest(),
		...PURPOSES.map((purpose) => createHmac("sha256", purpose).update(code).digest()),
	];
	const digests = [...hex(made.map(({ digest }) => digest)), ...hex(others.map(({ digest }) => digest)), ...hex(plain)];
	assert.equal(new Set(digests).size, 2 * PURPOSES.length + plain.length);
	assert.ok(made.every(({ digest }) => digest.length === 32));
});

test("a code is right for its purpose alone, typed with blanks around it, and under the key that a newer one replaced", () => {
	const { code, digest } = newCode(needsWith(1), "reset");
	for (const purpose of PURPOSES)
		assert.equal(isOneOf(digestsOf(needsWith(1), purpose, ` ${code}\n`), digest), purpose === "reset");
	assert.ok(isOneOf(digestsOf(needsWith(2, 1), "reset", code), digest));
	assert.ok(!isOneOf(digestsOf(needsWith(2), "reset", code), digest));
	assert.ok(!isOneOf(digestsOf(needsWith(1), "reset", `${code}A`), digest));
});

test("recovery codes are kept as digests of their purpose, one after another", () => {
	const { codes, digests } = newRecoveryCodes(needsWith(1), 2);
	assert.equal(digests.length, 64);
	const typed = codes[0]?.replace("-", "") ?? "";
	assert.deepEqual(hex(digestsOf(needsWith(1), "recovery", typed)), hex([digests.subarray(0, 32)]));
});
