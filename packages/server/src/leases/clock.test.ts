import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { createTestLog } from "../testing/log.ts";
import { openTestStore } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { openLeaseClock } from "./clock.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Opens a clock on the real store. */
async function setUp(t: TestContext) {
	const { store } = await openTestStore(t);
	const system = createTestSystem();
	const { log, entries } = createTestLog();
	const needs = { store, system, log };
	const clock = await openLeaseClock(needs);
	const setBy = (milliseconds: number) =>
		system.setClock(new Date(system.now().getTime() + milliseconds).toISOString());
	return { store, system, needs, clock, entries, setBy, reopen: () => openLeaseClock(needs) };
}

test("the clock begins at the wall clock and advances with it", async (t) => {
	const { clock, system } = await setUp(t);
	assert.equal(clock.now(), START);
	system.advance(1234);
	assert.equal(clock.now(), START + 1234);
	assert.equal(clock.lastJump(), undefined);
});

test("a wall clock that is set back neither stops the clock nor takes it back", async (t) => {
	const { clock, system, setBy } = await setUp(t);
	system.advance(MINUTE);
	setBy(-DAY);
	assert.equal(clock.now(), START + MINUTE);
	system.advance(MINUTE);
	assert.equal(clock.now(), START + 2 * MINUTE);
	setBy(DAY);
	assert.equal(clock.now(), START + 2 * MINUTE, "set right again it is no jump");
	assert.equal(clock.lastJump(), undefined);
});

test("a wall clock that is ahead raises the clock, and five minutes are no jump", async (t) => {
	const { clock, setBy, entries } = await setUp(t);
	setBy(5 * MINUTE);
	assert.equal(clock.now(), START + 5 * MINUTE);
	await clock.tick();
	assert.equal(clock.lastJump(), undefined);
	assert.deepEqual(entries(), []);
	setBy(-5 * MINUTE);
	assert.equal(clock.now(), START + 5 * MINUTE);
});

test("a jump is in the audit log and in the log once, and can be seen", async (t) => {
	const { clock, store, system, setBy, entries } = await setUp(t);
	const start = await countEvents(store);
	setBy(5 * MINUTE + 1);
	await clock.tick();
	system.advance(1000);
	await clock.tick();
	assert.deepEqual(await eventsAfter(store, start), [["clock.jump", { ahead_ms: 5 * MINUTE + 1 }]]);
	assert.deepEqual(
		entries().map(({ level, event }) => [level, event]),
		[["error", "clock.jump"]],
	);
	assert.deepEqual(clock.lastJump(), { at: "2030-01-01T00:05:00.001Z", ahead_ms: 5 * MINUTE + 1, is_holding: true });
	system.advance(59_000);
	assert.equal(clock.lastJump()?.is_holding, false);
});

test("a jump whose event could not be written is reported again", async (t) => {
	const { needs, store, system, setBy } = await setUp(t);
	let refusals = 1;
	const append: typeof store.audit.append = async (event) => {
		if (refusals-- > 0) throw new Error("disk full");
		await store.audit.append(event);
	};
	const clock = await openLeaseClock({ ...needs, store: { ...store, audit: { ...store.audit, append } } });
	const start = await countEvents(store);
	setBy(DAY);
	await assert.rejects(clock.tick(), /disk full/);
	system.advance(1000);
	await clock.tick();
	assert.equal((await eventsAfter(store, start)).length, 1);
});

test("it is saved every ten seconds, and immediately when it was raised by more than a second", async (t) => {
	const { clock, store, system, setBy } = await setUp(t);
	const saved = async () => ((await store.leases.clock())?.lease_ms ?? 0) - START;
	assert.equal(await saved(), 0);
	system.advance(9999);
	await clock.tick();
	assert.equal(await saved(), 0);
	system.advance(1);
	await clock.tick();
	assert.equal(await saved(), 10_000);
	setBy(1001);
	await clock.tick();
	assert.equal(await saved(), 11_001);
	setBy(1000);
	await clock.tick();
	assert.equal(await saved(), 11_001);
});

test("a saving that failed is tried again at the next tick", async (t) => {
	const { needs, store, system } = await setUp(t);
	let refusals = 0;
	const saveClock: typeof store.leases.saveClock = async (mark) => {
		if (refusals-- > 0) throw new Error("disk full");
		await store.leases.saveClock(mark);
	};
	const clock = await openLeaseClock({ ...needs, store: { ...store, leases: { ...store.leases, saveClock } } });
	refusals = 1;
	system.advance(10_000);
	await assert.rejects(clock.tick(), /disk full/);
	await clock.tick();
	assert.equal((await store.leases.clock())?.lease_ms, START + 10_000);
});

test("a restart in the same boot counts the time in between by the uptime, whatever the wall clock says", async (t) => {
	const { system, setBy, reopen } = await setUp(t);
	system.advance(2 * 60 * MINUTE);
	setBy(-DAY);
	const clock = await reopen();
	assert.equal(clock.now(), START + 2 * 60 * MINUTE);
	assert.equal(clock.lastJump(), undefined);
});

test("two hours without the server, or asleep, are no jump", async (t) => {
	const { system, clock, reopen } = await setUp(t);
	system.advance(2 * 60 * MINUTE);
	assert.equal(clock.now(), START + 2 * 60 * MINUTE);
	assert.equal(clock.lastJump(), undefined);
	assert.equal((await reopen()).lastJump(), undefined);
});

test("a jump while the server was not running is noticed at start", async (t) => {
	const { system, store, setBy, reopen } = await setUp(t);
	const start = await countEvents(store);
	system.advance(MINUTE);
	setBy(DAY);
	const clock = await reopen();
	assert.equal(clock.lastJump()?.ahead_ms, DAY);
	assert.equal((await eventsAfter(store, start)).length, 1);
	assert.equal(clock.admits(START + 2 * MINUTE), false);
	assert.equal(clock.admits(START + MINUTE), true, "that one had ended anyway");
});

test("after another boot the wall clock counts, and a machine that was off for a week makes no alarm", async (t) => {
	const { system, setBy, reopen } = await setUp(t);
	system.reboot();
	setBy(7 * DAY);
	const clock = await reopen();
	assert.equal(clock.now(), START + 7 * DAY);
	assert.equal(clock.lastJump(), undefined);
	assert.equal(clock.admits(START + DAY), true);
});

test("after another boot with an older wall clock the clock continues from where it was", async (t) => {
	const { system, setBy, reopen } = await setUp(t);
	system.reboot();
	setBy(-DAY);
	system.advance(5000);
	const clock = await reopen();
	assert.equal(clock.now(), START);
	system.advance(5000);
	assert.equal(clock.now(), START + 5000);
});

test("a container that is started again, or moved to another host, counts nothing of its host's uptime", async (t) => {
	const { system, reopen } = await setUp(t);
	for (const host_uptime_ms of [30 * DAY, 1000, 90 * DAY]) {
		const now = system.now().getTime();
		system.reboot(host_uptime_ms);
		system.advance(MINUTE);
		const clock = await reopen();
		assert.equal(clock.now(), now + MINUTE);
		assert.equal(clock.lastJump(), undefined);
	}
	system.reboot(60 * DAY);
	const before = system.now().getTime();
	system.setClock(new Date(before - MINUTE).toISOString());
	assert.equal((await reopen()).now(), before, "nor where its clock is behind");
});

test("where the machine's start has no name, any restart may be another boot", async (t) => {
	const { system, needs, setBy } = await setUp(t);
	const nameless = { ...needs, system: { ...system, bootId: () => "" } };
	await openLeaseClock(nameless);
	setBy(7 * DAY);
	const clock = await openLeaseClock(nameless);
	assert.equal(clock.now(), START + 7 * DAY);
	assert.equal(clock.lastJump(), undefined);
	setBy(-1);
	assert.equal((await openLeaseClock(nameless)).now(), START + 7 * DAY, "its uptime is not added with every restart");
});

test("leases that a jump made due wait for a minute, and then come at a hundred a second", async (t) => {
	const { clock, system, setBy } = await setUp(t);
	setBy(DAY);
	const due_at = START + 60 * MINUTE;
	assert.equal(clock.admits(due_at), false);
	system.advance(59_999);
	assert.equal(clock.admits(due_at), false);
	system.advance(1);
	for (let second = 0; second < 3; second++) {
		const admitted = Array.from({ length: 500 }, () => clock.admits(due_at)).filter(Boolean).length;
		assert.equal(admitted, 100);
		system.advance(1000);
	}
});

test("leases that end by the time that has passed, and those made after the jump, are not held", async (t) => {
	const { clock, system, setBy } = await setUp(t);
	setBy(DAY);
	await clock.tick();
	system.advance(30_000);
	for (let count = 0; count < 1000; count++) assert.ok(clock.admits(START + 30_000));
	assert.equal(clock.admits(START + 30_001), false);
	assert.equal(clock.admits(START + DAY), false);
	for (let count = 0; count < 1000; count++) assert.ok(clock.admits(START + DAY + 1));
});

test("a second jump does not let through what the first one made due", async (t) => {
	const { clock, system, setBy } = await setUp(t);
	setBy(DAY);
	assert.equal(clock.admits(START + 60 * MINUTE), false);
	system.advance(50_000);
	setBy(DAY);
	assert.equal(clock.admits(START + 60 * MINUTE), false);
	system.advance(20_000);
	assert.equal(clock.admits(START + 60 * MINUTE), false, "the minute begins anew");
	system.advance(40_000);
	assert.equal(clock.admits(START + 60 * MINUTE), true);
});

test("asking for admission is enough to notice a jump", async (t) => {
	const { clock, setBy } = await setUp(t);
	setBy(DAY);
	assert.equal(clock.admits(START + MINUTE), false);
});
