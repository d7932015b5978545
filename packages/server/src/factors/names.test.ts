import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { dataKey } from "../crypto/seal.ts";
import { createTestSystem } from "../testing/system.ts";
import type { Factor } from "./model.ts";
import { openPasskey, sealFactor, sealPasskey, withOwnName } from "./use.ts";

const system = createTestSystem();
const key = dataKey(Buffer.alloc(8, 1), Buffer.alloc(32, 1));
const needs = { system, keyring: { record: async () => key, recordFor: async () => key } };
const made = { credential_id: "AA", public_key: randomBytes(77) };

const HONEST = { name: "laptop", rp_id: "svc.example.com" };
const ALTERED = { name: "phone", rp_id: "other.example.com" };

/** A confirmed passkey in the row that the server wrote. */
async function confirmed(): Promise<Factor> {
	const row = { id: "1", user_id: "ada", type: "passkey" as const, ...HONEST };
	const at = "2030-01-01T00:00:00.000Z";
	return { ...row, sealed: await sealPasskey(needs, row, made), last_step: 1, created_at: at, confirmed_at: at };
}

const shown = ({ name, rp_id }: Factor) => ({ name, rp_id });

test("a passkey has the name and host of its box, whatever another program wrote into its row", async () => {
	const passkey = { ...(await confirmed()), ...ALTERED };
	assert.deepEqual(shown(await withOwnName(needs, passkey)), HONEST);
	assert.deepEqual(await openPasskey(needs, passkey), { ...made, ...HONEST });
});

test("a passkey that was sealed without a name has that of its row", async () => {
	const { credential_id, public_key } = made;
	const text = JSON.stringify({ credential_id, public_key: public_key.toString("base64url") });
	const row = { ...(await confirmed()), ...ALTERED };
	const passkey = { ...row, sealed: await sealFactor(needs, row, Buffer.from(text)) };
	assert.deepEqual(shown(await withOwnName(needs, passkey)), ALTERED);
});

test("a passkey that is not confirmed, or does not open, is listed nevertheless", async () => {
	const passkey = { ...(await confirmed()), ...ALTERED };
	for (const one of [
		{ ...passkey, confirmed_at: null },
		{ ...passkey, sealed: randomBytes(90) },
	])
		assert.deepEqual(await withOwnName(needs, one), one);
});
