import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Golden, makeGolden } from "../testing/golden.ts";
import { createMemoryKeyStore } from "../testing/memory-key-store.ts";
import { tokenDigest } from "./api-token.ts";
import { type Keyring, openKeyring } from "./keyring.ts";
import { verifyPassword } from "./password.ts";
import { type EncryptionContext, openPortable, openRecord } from "./seal.ts";
import { createSessionTokens } from "./session.ts";
import { masterFingerprint } from "./wrap.ts";

const FOLDER = new URL("vectors/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => /^golden-.*\.json$/.test(name));

const bytes = (hex: string) => Buffer.from(hex, "hex");

async function openGolden(golden: Golden): Promise<Keyring> {
	const keys = createMemoryKeyStore();
	keys.state.fingerprint = golden.fingerprint;
	keys.state.rows = golden.keyring.map((row) => ({ ...row, id: bytes(row.id), wrapped: bytes(row.wrapped) }));
	const system = { now: () => new Date(0), randomBytes: () => assert.fail("nothing is sealed") };
	return openKeyring({ keys, master: bytes(golden.master), system });
}

async function openAt(keyring: Keyring, context: EncryptionContext, box: Buffer): Promise<string | undefined> {
	const key = await keyring.recordFor(context.realm_id, box);
	return key && openRecord(key, context, box)?.toString();
}

/** Checks that everything opens that must, and nothing that must not. */
async function checkGolden(golden: Golden): Promise<void> {
	const keyring = await openGolden(golden);
	assert.equal(golden.fingerprint, masterFingerprint(bytes(golden.master)));
	for (const { context, plaintext, box } of golden.records)
		assert.equal(await openAt(keyring, context, bytes(box)), plaintext);
	for (const { what, context, box } of golden.broken_records)
		assert.equal(await openAt(keyring, context, bytes(box)), undefined, what);
	const openText = (text: string) => openPortable(text, (id) => keyring.portableById(id));
	for (const { plaintext, text } of golden.portable) assert.equal(openText(text), plaintext);
	for (const { what, text } of golden.broken_portable) assert.equal(openText(text), undefined, what);
	for (const { key_id, message, signature } of golden.checkpoints) {
		assert.equal(keyring.checkpoint().byId.get(key_id)?.verify(Buffer.from(message), bytes(signature)), true);
	}
	const { token, sub, jti, iat, exp } = golden.session;
	const sessions = createSessionTokens(() => keyring.session(), { now: () => new Date(iat * 1000) });
	assert.deepEqual(await sessions.verify(token), { sub, jti, exp });
	assert.deepEqual(tokenDigest(golden.api_token.token), bytes(golden.api_token.digest));
	assert.equal(golden.api_token.token.startsWith(golden.api_token.prefix), true);
	assert.equal(await verifyPassword(golden.password.hash, golden.password.password), true);
}

test("there are golden files to open", () => {
	assert.ok(FILES.includes("golden-0.1.0.json"));
});

for (const file of FILES) {
	test(`what ${file} holds opens, and what it broke does not`, async () => {
		await checkGolden(JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")));
	});
}

test("a golden file made now would pass, so the next release can make one", async () => {
	await checkGolden(await makeGolden("now"));
});
