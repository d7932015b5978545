import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { createReaper } from "./reaper.ts";
import { type FakeTarget, openReaper } from "./testing.ts";

const SEED = randomInt(2 ** 31);
const STEPS = 600;
const MOODS: FakeTarget["mood"][] = ["well", "well", "well", "away", "denied", "rejecting", "lying", "unsure"];

/** Mulberry32: small, and the same for the same seed. @returns numbers from 0 up to, not including, 1 */
function createRandom(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

test(`whatever happens in whatever order, no credential is without an open lease, and in the end none is left (seed ${SEED})`, async (t) => {
	const random = createRandom(SEED);
	const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
	const { add, at, needs, system, clock, store } = await openReaper(t);
	let reaper = createReaper(needs);
	const names = ["a", "b", "c"];
	const leases = new Map<string, string>();

	const actions: Record<string, () => Promise<void>> = {
		async make() {
			const state = pick(["active", "active", "revoking", "uncertain", "intent"] as const);
			const due_at = clock.now() + Math.floor(random() * 120_000);
			const lease = await add(state, { target: pick(names), due_at });
			leases.set(lease.name, lease.id);
			if (random() < 0.2) at(lease.target).names.delete(lease.name);
		},
		async turn() {
			at(pick(names)).mood = pick(MOODS);
		},
		async look() {
			system.advance(Math.floor(random() * 10_000));
			await reaper.runOnce();
		},
		async hurry() {
			const lease = await store.leases.byId(pick([...leases.values(), ""]));
			if (lease?.state === "revoking" || lease?.state === "uncertain") await reaper.revokeNow(lease);
		},
		async land() {
			const lease = await store.leases.byId(pick([...leases.values(), ""]));
			if (lease?.state === "uncertain" && at(lease.target).mood === "unsure") at(lease.target).names.add(lease.name);
		},
		async restart() {
			await reaper.stop();
			reaper = createReaper(needs);
		},
		async reconfigure() {
			reaper.reconsider();
		},
		async setBack() {
			system.setClock(new Date(system.now().getTime() - 60_000).toISOString());
		},
	};

	async function check(): Promise<void> {
		for (const target of names) {
			for (const name of at(target).names) {
				const lease = await store.leases.byId(leases.get(name) ?? "");
				assert.notEqual(lease?.due_at ?? null, null, `${name} at ${target} is ${lease?.state}`);
			}
		}
	}

	for (let step = 0; step < STEPS; step++) {
		await pick(Object.values(actions))();
		if (step % 20 === 0) await check();
	}
	await check();
	for (const target of names) at(target).mood = "well";
	for (let minute = 0; minute < 30; minute++) {
		system.advance(60_000);
		await reaper.runOnce();
	}
	await reaper.stop();
	for (const target of names) assert.deepEqual([...at(target).names], []);
	assert.deepEqual(await store.leases.openTargets(), []);
});
