import assert from "node:assert/strict";
import { test } from "node:test";
import { anEvent } from "../testing/rows.ts";
import { createSweeper } from "./sweep.ts";
import { openSweeper } from "./testing.ts";

const MINUTE = 60_000;

test("a name that nobody knows is reported once, counted, and left where others make names too", async (t) => {
	const { at, sweeper, system, news, entries } = await openSweeper(t);
	at("a").names.add("svc_deadbeef");
	for (let sweep = 0; sweep < 5; sweep++) {
		await sweeper.runOnce();
		assert.equal(sweeper.orphans(), 1);
		system.advance(10 * MINUTE);
	}
	assert.deepEqual(await news(), [
		["lease.orphan", { target: "a", scope: "", name: "svc_deadbeef", is_removed: false }],
	]);
	assert.deepEqual([...at("a").names], ["svc_deadbeef"]);
	assert.equal(entries().filter(({ event }) => event === "lease.orphans").length, 1);
	at("a").names.clear();
	await sweeper.runOnce();
	assert.equal(sweeper.orphans(), 0);
});

test("at a target of ours alone it is removed when it is seen again after a quarter of an hour", async (t) => {
	const { at, sweeper, system, news } = await openSweeper(t, { exclusive: true });
	at("a").names.add("svc_deadbeef");
	await sweeper.runOnce();
	system.advance(15 * MINUTE - 1);
	await sweeper.runOnce();
	assert.deepEqual([...at("a").names], ["svc_deadbeef"]);
	system.advance(1);
	await sweeper.runOnce();
	assert.deepEqual([...at("a").names], []);
	const facts = { target: "a", scope: "", name: "svc_deadbeef" };
	assert.deepEqual(await news(), [
		["lease.orphan", { ...facts, is_removed: false }],
		["lease.orphan", { ...facts, is_removed: true }],
	]);
});

test("what is an open lease's under another address of the same engine is no orphan", async (t) => {
	const { at, add, sweepNeeds, target, store } = await openSweeper(t, { target: "keyvalue:new", exclusive: true });
	const others = ["keyvalue:old", "documentdb:old"].map((name) => ({ ...target, target: name, list: async () => [] }));
	const sweeper = createSweeper({ ...sweepNeeds, targets: async () => [target, ...others] });
	const [ours, theirs] = [
		await add("active", { target: "keyvalue:old" }),
		await add("active", { target: "documentdb:old" }),
	];
	at("a").names.add(ours.name).add(theirs.name);
	await sweeper.runOnce();
	assert.equal(sweeper.orphans(), 1);
	await store.leases.abandon({ id: ours.id, closed_at: ours.created_at }, anEvent());
	await sweeper.runOnce();
	assert.equal(sweeper.orphans(), 2);
});

test("the name of a lease whose create was refused is somebody else's, and not revoked", async (t) => {
	const { at, add, sweeper, store, news } = await openSweeper(t);
	const refused = await add("intent");
	await store.leases.abort({ id: refused.id, closed_at: refused.created_at }, anEvent());
	at("a").names.add(refused.name);
	await sweeper.runOnce();
	assert.equal((await store.leases.byId(refused.id))?.state, "aborted");
	assert.deepEqual((await news()).at(-1), [
		"lease.orphan",
		{ target: "a", scope: "", name: refused.name, is_removed: false },
	]);
});

test("an orphan that goes in between is seen for the first time when it is back", async (t) => {
	const { at, sweeper, system } = await openSweeper(t, { exclusive: true });
	at("a").names.add("svc_deadbeef");
	await sweeper.runOnce();
	at("a").names.clear();
	system.advance(10 * MINUTE);
	await sweeper.runOnce();
	at("a").names.add("svc_deadbeef");
	system.advance(10 * MINUTE);
	await sweeper.runOnce();
	assert.deepEqual([...at("a").names], ["svc_deadbeef"]);
});

test("a removal that fails is tried again at the next sweep, and is one event", async (t) => {
	const { at, sweeper, system, news, target, entries } = await openSweeper(t, { exclusive: true });
	at("a").names.add("svc_deadbeef");
	const remove = target.remove;
	target.remove = async () => ({ outcome: "denied", message: "no permission" });
	await sweeper.runOnce();
	for (let sweep = 0; sweep < 3; sweep++) {
		system.advance(15 * MINUTE);
		await sweeper.runOnce();
	}
	assert.equal((await news()).length, 2);
	assert.equal(entries().filter(({ event }) => event === "lease.orphan.kept").length, 3);
	if (remove !== undefined) target.remove = remove;
	await sweeper.runOnce();
	assert.deepEqual([...at("a").names], []);
});

test("without a way to remove names none is removed", async (t) => {
	const { at, sweeper, system, target } = await openSweeper(t, { exclusive: true });
	delete target.remove;
	at("a").names.add("svc_deadbeef");
	await sweeper.runOnce();
	system.advance(60 * MINUTE);
	await sweeper.runOnce();
	assert.deepEqual([...at("a").names], ["svc_deadbeef"]);
});

test("the orphans of a target that is configured no longer do not count", async (t) => {
	const { at, sweepNeeds, target } = await openSweeper(t);
	at("a").names.add("svc_deadbeef");
	const targets = [target];
	const sweeper = createSweeper({ ...sweepNeeds, targets: async () => targets });
	await sweeper.runOnce();
	assert.equal(sweeper.orphans(), 1);
	targets.pop();
	await sweeper.runOnce();
	assert.equal(sweeper.orphans(), 0);
});
