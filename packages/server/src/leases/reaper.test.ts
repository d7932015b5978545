import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { stays } from "../testing/stays.ts";
import { until } from "../testing/until.ts";
import { createReaper } from "./reaper.ts";
import { type createFakeTarget, openReaper, pass } from "./testing.ts";

const setTimer = globalThis.setTimeout;
const START = Date.parse("2030-01-01T00:00:00Z");
const HOUR = 60 * 60 * 1000;

/** Makes the removals of a target wait until they are released. */
function hold(target: ReturnType<typeof createFakeTarget>) {
	const held = Promise.withResolvers<void>();
	target.before = () => held.promise;
	return held.resolve;
}

test("a lease is revoked when its time is over, and not before", async (t) => {
	const { add, at, reaper, system, stateOf, lags } = await openReaper(t);
	const lease = await add("active", { due_at: START + 10_000 });
	system.advance(9999);
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "active");
	system.advance(1);
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
	assert.deepEqual([...at("a").names], []);
	assert.deepEqual(lags, [0]);
});

test("the loop revokes a lease by itself, within two seconds of its end", async (t) => {
	const { add, reaper, system, stateOf, restsOf } = await openReaper(t);
	const lease = await add("active", { due_at: START + HOUR });
	reaper.start();
	await until(() => restsOf() > 0);
	system.advance(HOUR);
	let isLate = false;
	// Timers fire in the order of their times, however busy the machine is.
	const timer = setTimer(() => {
		isLate = true;
	}, 2000);
	await until(async () => (await stateOf(lease)) === "revoked");
	clearTimeout(timer);
	assert.ok(!isLate);
});

test("being woken, the loop does not wait for its next look", async (t) => {
	const { add, reaper, stateOf, restsOf } = await openReaper(t, { rest_ms: 60_000 });
	reaper.start();
	await until(() => restsOf() > 0);
	const lease = await add("revoking");
	reaper.wake();
	await until(async () => (await stateOf(lease)) === "revoked");
});

test("the loop sleeps until the next lease is due", async (t) => {
	const { add, reaper, system, stateOf, restsOf } = await openReaper(t, { rest_ms: 60_000 });
	const lease = await add("active", { due_at: START + 100 });
	reaper.start();
	await until(() => restsOf() > 0);
	system.advance(100);
	await until(async () => (await stateOf(lease)) === "revoked");
});

test("intents of a server that ended are revoked at start, and those of this one are left", async (t) => {
	const { add, reaper, stateOf } = await openReaper(t);
	const old = await add("intent", { due_at: START + HOUR });
	reaper.start();
	const young = await add("intent", { due_at: START + HOUR });
	await until(async () => (await stateOf(old)) === "aborted");
	assert.equal(await stateOf(young), "intent");
});

test("an intent that this server forgot is doubted when it is due", async (t) => {
	const { add, reaper, system, stateOf } = await openReaper(t);
	await reaper.runOnce();
	const lease = await add("intent", { due_at: START + 120_000 });
	system.advance(119_999);
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "intent");
	system.advance(1);
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "aborted");
});

for (const [count, at_once, widest] of [
	[2, 16, 8],
	[10, 64, 7],
] as const) {
	test(`${count} targets get ${at_once} removals at once, and none more than ${widest}`, async (t) => {
		const { add, at, reaper } = await openReaper(t);
		const names = Array.from({ length: count }, (_, index) => `target-${index}`);
		for (const target of names) await Promise.all(Array.from({ length: 20 }, () => add("revoking", { target })));
		const releases = names.map((name) => hold(at(name)));
		reaper.start();
		const removals = () => names.map((name) => at(name).removals);
		const sum = () => removals().reduce((all, more) => all + more, 0);
		await until(() => sum() === at_once);
		await stays("no more begin", () => sum() === at_once);
		assert.equal(Math.max(...removals()), widest);
		for (const release of releases) release();
		await until(() => sum() === 20 * count);
	});
}

test("targets take turns, and at each the lease that is due longest goes first", async (t) => {
	const { add, at, reaper, system } = await openReaper(t, { width: 1, total: 1 });
	const order: string[] = [];
	for (const target of ["a", "b"]) {
		at(target).before = async ({ name }) => void order.push(name);
		for (const late of [1, 3, 2]) await add("revoking", { target, name: `${target}${late}`, due_at: START - late });
	}
	system.advance(1000);
	await reaper.runOnce();
	assert.deepEqual(order, ["a3", "b3", "a2", "b2", "a1", "b1"]);
});

test("more leases than are read at once are revoked in one go", async (t) => {
	const { add, at, reaper } = await openReaper(t);
	await Promise.all(Array.from({ length: 1200 }, () => add("revoking")));
	await reaper.runOnce();
	assert.equal(at("a").names.size, 0);
	assert.equal(at("a").removals, 1200);
});

test("the loop continues when what it has read has begun, and rests only when nothing is left", async (t) => {
	const { add, at, reaper } = await openReaper(t, { rest_ms: 60_000 });
	await Promise.all(Array.from({ length: 300 }, () => add("revoking")));
	reaper.start();
	await until(() => at("a").names.size === 0);
});

test("revoking now is done when the credential is gone, and says so", async (t) => {
	const { add, reaper, stateOf, lags, system } = await openReaper(t);
	const lease = await add("revoking");
	system.advance(300);
	assert.deepEqual(await reaper.revokeNow(lease), { outcome: "absent" });
	assert.equal(await stateOf(lease), "revoked");
	assert.deepEqual(lags, [300]);
	assert.deepEqual(await reaper.revokeNow(lease), { outcome: "absent" }, "again it is the same");
});

test("revoking now joins the attempt that is under way", async (t) => {
	const { add, at, reaper } = await openReaper(t);
	const lease = await add("revoking");
	const open = hold(at("a"));
	const asked = [reaper.revokeNow(lease), reaper.runOnce(), reaper.revokeNow(lease)];
	await stays("one attempt is under way", () => at("a").removals <= 1);
	open();
	assert.deepEqual(
		(await Promise.all(asked)).map((removal) => removal?.outcome),
		["absent", undefined, "absent"],
	);
	assert.equal(at("a").removals, 1);
});

test("a person and the reaper who revoke the same lease a thousand times over make one event each time", async (t) => {
	const { add, reaper, store, realm } = await openReaper(t);
	for (let round = 0; round < 100; round++) {
		const leases = await Promise.all(Array.from({ length: 10 }, () => add("revoking")));
		const start = await countEvents(store);
		const [removals] = await Promise.all([
			Promise.all(leases.map((lease) => reaper.revokeNow(lease))),
			round % 2 === 0 ? reaper.runOnce() : setTimeout(0).then(() => reaper.runOnce()),
		]);
		assert.ok(removals.every(({ outcome }) => outcome === "absent"));
		const events = await eventsAfter(store, start, [realm.id]);
		assert.equal(events.filter(([type]) => type === "lease.revoked").length, 10);
		assert.equal(events.length, 10);
	}
});

test("a lease that a person abandons in the middle stays abandoned", async (t) => {
	const { add, at, reaper, store, stateOf, system } = await openReaper(t);
	const lease = await add("revoking");
	at("a").before = async () => {
		const event = {
			timestamp: system.now().toISOString(),
			type: "lease.abandoned",
			actor: "x",
			realm_id: "",
			realm: "",
		} as const;
		await store.leases.abandon({ id: lease.id, closed_at: event.timestamp }, { ...event, data: {} });
	};
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "abandoned");
});

test("while the store cannot write, little is tried; afterwards everything is done", async (t) => {
	const { add, at, needs, store, system, stateOf, entries } = await openReaper(t);
	const leases = await Promise.all(Array.from({ length: 100 }, () => add("revoking")));
	let refusals = Number.POSITIVE_INFINITY;
	const settle: typeof store.leases.settle = async (...args) => {
		if (refusals-- > 0) throw new Error("disk full");
		return store.leases.settle(...args);
	};
	const fragile = { ...store, leases: { ...store.leases, settle } };
	const reaper = createReaper({ ...needs, store: fragile });
	for (let second = 0; second < 20; second++) {
		system.advance(1000);
		await reaper.runOnce();
	}
	assert.ok(at("a").removals <= 5 * 8, `${at("a").removals} removals`);
	assert.ok(entries().filter(({ event }) => event === "lease.reaper.failed").length <= 5);
	refusals = 0;
	await pass({ system, reaper }, 6);
	assert.deepEqual(new Set(await Promise.all(leases.map(stateOf))), new Set(["revoked"]));
});

test("revoking now passes on that the store cannot write", async (t) => {
	const { add, needs, store } = await openReaper(t);
	const lease = await add("revoking");
	const settle: typeof store.leases.settle = async () => assert.fail("disk full");
	const reaper = createReaper({ ...needs, store: { ...store, leases: { ...store.leases, settle } } });
	await assert.rejects(reaper.revokeNow(lease), /disk full/);
});

test("the clock is saved by looking", async (t) => {
	const { reaper, system, store } = await openReaper(t);
	system.advance(10_000);
	await reaper.runOnce();
	assert.equal((await store.leases.clock())?.lease_ms, START + 10_000);
});

test("stopping begins nothing new and waits for what is under way", async (t) => {
	const { add, at, reaper, stateOf } = await openReaper(t, { width: 1 });
	const [first, second] = [await add("revoking"), await add("revoking")];
	const open = hold(at("a"));
	reaper.start();
	await until(() => at("a").removals === 1);
	let isStopped = false;
	const stopping = reaper.stop().then(() => {
		isStopped = true;
	});
	await stays("it waits", () => !isStopped);
	open();
	await stopping;
	assert.deepEqual([await stateOf(first), await stateOf(second)], ["revoked", "revoking"]);
});

test("stopping does not wait forever", async (t) => {
	const { add, at, reaper } = await openReaper(t, { grace_ms: 50 });
	await add("revoking");
	const open = hold(at("a"));
	reaper.start();
	await until(() => at("a").removals === 1);
	await reaper.stop();
	open();
});

test("a reaper that never began is stopped", async (t: TestContext) => {
	const { reaper } = await openReaper(t);
	await reaper.stop();
});
