import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openReaper, pass } from "./testing.ts";

const START = Date.parse("2030-01-01T00:00:00Z");

/** Opens a reaper with leases of one hour, and lets the clock jump a year ahead. */
async function openJumped(t: TestContext, count: number) {
	const opened = await openReaper(t);
	await Promise.all(Array.from({ length: count }, () => opened.add("active", { due_at: START + 3_600_000 })));
	opened.system.setClock("2031-01-01T00:00:00Z");
	return opened;
}

test("a clock that jumps a year ahead ends nothing for a minute, and then a hundred leases a second", async (t) => {
	const opened = await openJumped(t, 1000);
	const { at, reaper } = opened;
	await reaper.runOnce();
	await pass(opened, 59);
	assert.equal(at("a").names.size, 1000);
	await pass(opened, 1);
	for (let second = 1; second <= 9; second++) {
		assert.equal(at("a").names.size, 1000 - 100 * second);
		await pass(opened, 1);
	}
	assert.equal(at("a").names.size, 0);
});

test("what a person revokes does not wait for that", async (t) => {
	const opened = await openJumped(t, 10);
	const { add, at, reaper } = opened;
	await reaper.runOnce();
	await add("revoking");
	await reaper.runOnce();
	assert.equal(at("a").names.size, 10);
});

test("nor does anything else that began after it, however many are held", async (t) => {
	const opened = await openJumped(t, 600);
	const { add, at, reaper, clock } = opened;
	await reaper.runOnce();
	await add("revoking");
	await add("uncertain");
	await add("active", { due_at: clock.now() + 1000 });
	await pass(opened, 2);
	assert.equal(at("a").names.size, 600);
	await pass(opened, 58);
	await add("revoking");
	await pass(opened, 1);
	assert.equal(at("a").names.size, 400);
});

test("a clock that is set back a day prolongs no lease", async (t) => {
	const opened = await openReaper(t);
	const { add, system, stateOf } = opened;
	const lease = await add("active", { due_at: START + 60_000 });
	await pass(opened, 30);
	system.setClock("2029-12-31T00:00:00Z");
	await pass(opened, 30);
	assert.equal(await stateOf(lease), "revoked");
});

test("expired leases are revoked after two hours of sleep", async (t) => {
	const opened = await openReaper(t);
	const { add, system, reaper, stateOf } = opened;
	const lease = await add("active", { due_at: START + 60_000 });
	system.advance(2 * 60 * 60 * 1000);
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
});
