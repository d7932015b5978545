import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { newIdAt } from "../testing/rows.ts";
import type { SweepTarget } from "./reconcile.ts";
import { createSweeper } from "./sweep.ts";
import { openSweeper } from "./testing.ts";

const MINUTE = 60_000;

for (const state of ["revoked", "aborted", "abandoned"] as const) {
	test(`a credential that is back though its lease is ${state} is revoked again`, async (t) => {
		const { add, at, sweeper, reaper, stateOf, news, store } = await openSweeper(t);
		const lease = await add(state);
		at("a").names.add(lease.name);
		await news();
		await sweeper.runOnce();
		const facts = { lease_id: lease.id, engine: "keyvalue", name: lease.name };
		assert.deepEqual(await news(), [["lease.zombie", facts]]);
		assert.equal((await store.leases.byId(lease.id))?.reason, "zombie");
		await reaper.runOnce();
		assert.equal(await stateOf(lease), "revoked");
		assert.deepEqual([...at("a").names], []);
		await sweeper.runOnce();
		assert.deepEqual(
			(await news()).map(([type]) => type),
			["lease.revoked"],
		);
	});
}

test("the reaper is woken for what came back", async (t) => {
	const { add, at, sweepNeeds } = await openSweeper(t);
	const lease = await add("revoked");
	at("a").names.add(lease.name);
	let wakes = 0;
	const sweeper = createSweeper({ ...sweepNeeds, reaper: { wake: () => void wakes++ } });
	await sweeper.runOnce();
	assert.equal(wakes, 1);
	at("a").names.clear();
	await sweeper.runOnce();
	assert.equal(wakes, 1);
});

test("a lease that is closed while the target is being listed is no zombie", async (t) => {
	const { add, at, sweeper, reaper, target, news, stateOf } = await openSweeper(t);
	const lease = await add("revoking");
	let isFirst = true;
	target.list = async () => {
		const names = [...at("a").names];
		if (isFirst) await reaper.runOnce();
		isFirst = false;
		return names;
	};
	await news();
	await sweeper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
	assert.deepEqual(
		(await news()).map(([type]) => type),
		["lease.revoked"],
	);
});

test("an active lease whose credential is gone is marked once, stays, and is revoked when its time is over", async (t) => {
	const { add, at, sweeper, reaper, system, stateOf, news, store, grow, clock } = await openSweeper(t);
	const lease = await add("active", { due_at: clock.now() + 60 * MINUTE });
	const kept = await add("active", { due_at: clock.now() + 60 * MINUTE });
	at("a").names.delete(lease.name);
	grow();
	await news();
	await sweeper.runOnce();
	await sweeper.runOnce();
	assert.deepEqual(await news(), [["lease.lost", { lease_id: lease.id, engine: "keyvalue", name: lease.name }]]);
	assert.equal(await stateOf(lease), "active");
	assert.match((await store.leases.byId(lease.id))?.last_error ?? "", /\bno longer exists\b/);
	assert.equal((await store.leases.byId(kept.id))?.last_error, "");
	system.advance(60 * MINUTE);
	await reaper.runOnce();
	assert.deepEqual([await stateOf(lease), await stateOf(kept)], ["revoked", "revoked"]);
});

test("what is younger than a minute, in another scope, without a name, or not active is not missed", async (t) => {
	const { add, at, sweeper, system, news, grow, clock } = await openSweeper(t);
	const due_at = clock.now() + 60 * MINUTE;
	await add("active", { due_at, scope: "admin" });
	await add("active", { due_at, name: "" });
	await add("revoking", { due_at });
	await add("uncertain", { due_at });
	await add("intent", { due_at });
	grow();
	await add("active", {
		due_at,
		id: newIdAt(system.now().getTime() - 60_000),
		created_at: "what another program wrote",
	});
	at("a").names.clear();
	await news();
	await sweeper.runOnce();
	assert.deepEqual(await news(), []);
});

test("a credential that appears while the target is being listed is not lost", async (t) => {
	const { add, at, sweeper, target, news, grow, clock } = await openSweeper(t);
	const lease = await add("active", { due_at: clock.now() + 60 * MINUTE });
	grow();
	let isFirst = true;
	target.list = async () => {
		const names = isFirst ? [] : [...at("a").names];
		isFirst = false;
		return names;
	};
	await news();
	await sweeper.runOnce();
	assert.deepEqual(await news(), []);
	assert.ok(at("a").names.has(lease.name));
});

test("a name of an open lease is neither an orphan nor a zombie", async (t) => {
	const { add, sweeper, news, clock } = await openSweeper(t, { exclusive: true });
	const due_at = clock.now() + 60 * MINUTE;
	for (const state of ["intent", "active", "uncertain", "revoking"] as const) await add(state, { due_at });
	await news();
	await sweeper.runOnce();
	assert.deepEqual(await news(), []);
	assert.equal(sweeper.orphans(), 0);
});

test("a target that is away or throws is skipped, and the others are swept", async (t) => {
	const { add, at, sweepNeeds, target, stateOf, news, entries, grow, clock } = await openSweeper(t);
	await add("active", { due_at: clock.now() + 60 * MINUTE });
	const lease = await add("revoked");
	at("a").names.add(lease.name);
	grow();
	await news();
	const away: SweepTarget = { ...target, list: async () => undefined };
	const broken: SweepTarget = { ...target, scope: "broken", list: async () => assert.fail("redis://admin:hunter2@db") };
	const sweeper = createSweeper({ ...sweepNeeds, targets: async () => [away, broken, target] });
	await sweeper.runOnce();
	assert.equal(await stateOf(lease), "revoking");
	assert.deepEqual(
		(await news()).map(([type]) => type),
		["lease.zombie"],
	);
	assert.equal(entries().filter(({ event }) => event === "lease.sweep.failed").length, 1);
	assert.doesNotMatch(JSON.stringify(entries()), /hunter2/);
});

test("names of leases that were closed for more than 90 days are forgotten", async (t) => {
	const { add, sweeper, system, stateOf } = await openSweeper(t);
	const lease = await add("revoked");
	system.advance(90 * 24 * 60 * MINUTE);
	await sweeper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
	system.advance(1);
	await sweeper.runOnce();
	assert.equal(await stateOf(lease), undefined);
});

test("a clock that jumped makes nobody forget", async (t) => {
	const { add, sweeper, system, stateOf, clock } = await openSweeper(t);
	const lease = await add("revoked");
	system.setClock("2031-01-01T00:00:00Z");
	await clock.tick();
	await sweeper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
});

test("80,000 names are reconciled without holding others up", async (t) => {
	const { at, sweeper } = await openSweeper(t);
	for (let count = 0; count < 80_000; count++) at("a").names.add(`svc_${count.toString(16).padStart(8, "0")}`);
	let longest_ms = 0;
	// CPU time of this thread: time lost to other processes says nothing about the sweep.
	let last = process.threadCpuUsage();
	const watch = setInterval(() => {
		const { user, system } = process.threadCpuUsage(last);
		longest_ms = Math.max(longest_ms, (user + system) / 1000);
		last = process.threadCpuUsage();
	}, 5);
	const began = performance.now();
	await sweeper.runOnce();
	const first_ms = performance.now() - began;
	await sweeper.runOnce();
	clearInterval(watch);
	t.diagnostic(
		`first ${Math.round(first_ms)} ms, second ${Math.round(performance.now() - began - first_ms)} ms, longest turn ${Math.round(longest_ms)} ms`,
	);
	assert.equal(sweeper.orphans(), 80_000);
	assert.ok(longest_ms < 1000, `${longest_ms} ms`);
});

test("it sweeps at start, and stopping ends a reconciliation that is under way", async (t) => {
	const { at, sweeper, target } = await openSweeper(t);
	for (let count = 0; count < 20_000; count++) at("a").names.add(`svc_${count.toString(16).padStart(8, "0")}`);
	const listed = Promise.withResolvers<void>();
	target.list = async () => {
		listed.resolve();
		return [...at("a").names];
	};
	sweeper.start();
	await listed.promise;
	await nextTurn();
	await sweeper.stop();
	assert.ok(sweeper.orphans() < 20_000, `${sweeper.orphans()} were looked up`);
});
