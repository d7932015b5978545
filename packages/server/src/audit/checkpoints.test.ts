import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { openKeyring } from "../crypto/keyring.ts";
import { OWN_DUTIES } from "../nodes/model.ts";
import { createTestLog } from "../testing/log.ts";
import { createMemoryKeyStore } from "../testing/memory-key-store.ts";
import { createTestSystem } from "../testing/system.ts";
import { checkpointText } from "./chain.ts";
import { createCheckpointer } from "./checkpoints.ts";
import type { Checkpoint } from "./model.ts";

const EVERY_EVENTS = 10_000;
const EVERY_MS = 60_000;

/** A checkpointer over a chain of a given length. */
async function setUp(length = 0) {
	const system = createTestSystem();
	const keyring = await openKeyring({ keys: createMemoryKeyStore(), master: Buffer.alloc(32, 1), system });
	const added: Checkpoint[] = [];
	const { log, entries } = createTestLog();
	let seq = length;
	const audit = {
		head: () => ({ events: seq, hash: hash("sha256", String(seq), "buffer"), position: String(seq) }),
		addCheckpoint: async (checkpoint: Checkpoint) => void added.push(checkpoint),
	};
	const sign = await createCheckpointer({ store: { audit, duties: OWN_DUTIES }, system, keyring, log });
	const write = (count: number) => {
		seq += count;
	};
	return { system, keyring, added, entries, sign, write, audit };
}

const signed = (checkpoints: Checkpoint[]) => checkpoints.map((checkpoint) => checkpoint.seq);

test("the end of the chain is signed at the ten thousandth new event, not before", async () => {
	const { added, sign, write } = await setUp(5);
	write(EVERY_EVENTS - 1);
	await sign(false);
	assert.deepEqual(signed(added), []);
	write(1);
	await sign(false);
	assert.deepEqual(signed(added), [5 + EVERY_EVENTS]);
	write(EVERY_EVENTS - 1);
	await sign(false);
	assert.equal(added.length, 1, "the count begins again");
	write(1);
	await sign(false);
	assert.deepEqual(signed(added), [5 + EVERY_EVENTS, 5 + 2 * EVERY_EVENTS]);
});

test("one new event is signed after a minute, not before", async () => {
	const { added, sign, write, system } = await setUp();
	write(1);
	system.advance(EVERY_MS - 1);
	await sign(false);
	assert.deepEqual(signed(added), []);
	system.advance(1);
	await sign(false);
	assert.deepEqual(signed(added), [1]);
	write(1);
	system.advance(EVERY_MS - 1);
	await sign(false);
	assert.equal(added.length, 1, "the minute begins again");
});

test("without anything new nothing is signed, however long it takes and even when it is asked for", async () => {
	const { added, sign, system } = await setUp(3);
	system.advance(100 * EVERY_MS);
	await sign(false);
	await sign(true);
	assert.deepEqual(added, []);
});

test("when it is asked for, one new event is signed immediately, and only once", async () => {
	const { added, sign, write } = await setUp();
	write(1);
	await sign(true);
	await sign(true);
	assert.deepEqual(signed(added), [1]);
});

test("a checkpoint is signed with the active checkpoint key over event, hash and time", async () => {
	const { added, sign, write, keyring, audit, system } = await setUp();
	write(7);
	await sign(true);
	const [checkpoint] = added;
	assert.ok(checkpoint);
	const { seq, timestamp, hash, key_id } = checkpoint;
	assert.deepEqual({ events: seq, hash, position: String(seq) }, audit.head());
	assert.equal(timestamp, system.now().toISOString());
	const { active } = keyring.checkpoint();
	assert.deepEqual(key_id, active.id);
	assert.ok(active.verify(checkpointText(checkpoint), checkpoint.signature));
	for (const other of [{ seq: 8 }, { hash: Buffer.alloc(32) }, { timestamp: "2030-01-01T00:00:00.001Z" }]) {
		assert.ok(!active.verify(checkpointText({ ...checkpoint, ...other }), checkpoint.signature));
	}
});

test("a checkpoint is written to the log, from where it can be checked elsewhere", async () => {
	const { added, sign, write, entries } = await setUp();
	write(2);
	await sign(true);
	const [checkpoint] = added;
	assert.deepEqual(entries(), [
		{
			time: "2030-01-01T00:00:00.000Z",
			level: "info",
			event: "audit.checkpoint",
			seq: 2,
			hash: checkpoint?.hash.toString("hex"),
			signature: checkpoint?.signature.toString("base64url"),
		},
	]);
});

test("what could not be kept is not written to the log as if it were", async () => {
	const { sign, write, entries, audit } = await setUp();
	audit.addCheckpoint = () => Promise.reject(new Error("full"));
	write(1);
	await assert.rejects(sign(true), /full/);
	assert.deepEqual(entries(), []);
});
