import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createReaper } from "./reaper.ts";
import { openReaper } from "./testing.ts";

test("one of five targets with 10,000 due leases hangs, and holds up none of the others", async (t) => {
	const { add, at, reaper, system } = await openReaper(t, { rest_ms: 50 });
	const names = ["a", "b", "c", "d", "hole"];
	for (let batch = 0; batch < 20; batch++) {
		await Promise.all(Array.from({ length: 500 }, (_, index) => add("active", { target: names[index % 5] ?? "" })));
	}
	const hole = at("hole");
	hole.mood = "away";
	hole.before = () => setTimeout(200);
	for (const name of names.slice(0, 4)) at(name).before = () => setTimeout(1);
	const began = performance.now();
	reaper.start();
	const left = () => names.slice(0, 4).reduce((sum, name) => sum + at(name).names.size, 0);
	while (left() > 0 && performance.now() - began < 60_000) await setTimeout(20);
	const took_ms = performance.now() - began;
	assert.equal(left(), 0);
	t.diagnostic(`8,000 leases in ${Math.round(took_ms)} ms`);
	assert.equal(hole.names.size, 2000);
	assert.ok(hole.removals <= 5 + 8, `${hole.removals} removals at the target that hangs`);
	assert.equal(reaper.targets().find(({ target }) => target === "hole")?.state, "away");

	hole.mood = "well";
	hole.before = async () => undefined;
	const back = performance.now();
	while (hole.names.size > 0 && performance.now() - back < 60_000) {
		system.advance(100);
		await setTimeout(20);
	}
	assert.equal(hole.names.size, 0);
});

/** Adds due leases at ten targets. @returns the targets' names */
async function addAtTen(
	{ add }: Pick<Awaited<ReturnType<typeof openReaper>>, "add">,
	count: number,
): Promise<string[]> {
	const names = Array.from({ length: 10 }, (_, index) => `target-${index}`);
	for (const target of names) await Promise.all(Array.from({ length: count }, () => add("active", { target })));
	return names;
}

test("however many removals are under way, few of their writes come before anybody else's", async (t) => {
	const opened = await openReaper(t);
	const { needs, at, store } = opened;
	const names = await addAtTen(opened, 20);
	let [pending, most] = [0, 0];
	const counted =
		<Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
		(...args: Args): Promise<Result> => {
			most = Math.max(most, ++pending);
			return write(...args).finally(() => pending--);
		};
	const { revoke, settle } = store.leases;
	const leases = { ...store.leases, revoke: counted(revoke), settle: counted(settle) };
	await createReaper({ ...needs, store: { ...store, leases } }).runOnce();
	assert.deepEqual(new Set(names.map((name) => at(name).names.size)), new Set([0]));
	assert.ok(most <= 16, `${most} writes at once`);
});

test("between reading what is due at one target and at the next, others get their turn", async (t) => {
	const opened = await openReaper(t);
	const { needs, store } = opened;
	await addAtTen(opened, 10);
	let turn = 0;
	const tick = () => {
		turn++;
		immediate = setImmediate(tick);
	};
	let immediate = setImmediate(tick);
	const turns: number[] = [];
	const due: typeof store.leases.due = (...args) => {
		turns.push(turn);
		return store.leases.due(...args);
	};
	await createReaper({ ...needs, store: { ...store, leases: { ...store.leases, due } } }).runOnce();
	clearImmediate(immediate);
	assert.equal(new Set(turns.slice(0, 10)).size, 10);
});
