import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openWriter } from "../store/sqlite/open.ts";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { newIdAt } from "../testing/rows.ts";
import type { Lease } from "./model.ts";
import { type RevokeNeeds, revokeCredential } from "./revoke.ts";
import { openReaper } from "./testing.ts";

const START = Date.parse("2030-01-01T00:00:00Z");

async function setUp(t: TestContext) {
	const opened = await openReaper(t);
	const { store, realm } = opened;
	const read = async ({ id }: Pick<Lease, "id">) => (await store.leases.byId(id)) ?? assert.fail("no lease");
	const since = (start: number) => eventsAfter(store, start, [realm.id]);
	return { ...opened, read, since };
}

test("an expired lease is written down as such, removed and closed, in this order", async (t) => {
	const { add, at, needs, read, since, stateOf, store } = await setUp(t);
	const lease = await add("active");
	const start = await countEvents(store);
	const states: unknown[] = [];
	at("a").before = async (seen) => void states.push(seen.state, await stateOf(lease));
	const attempt = await revokeCredential(needs, lease.id);
	assert.deepEqual(attempt?.removal, { outcome: "absent" });
	assert.deepEqual(states, ["revoking", "revoking"]);
	assert.deepEqual([...at("a").names], []);
	const { state, reason, due_at, closed_at } = await read(lease);
	assert.deepEqual(
		{ state, reason, due_at, closed_at },
		{
			state: "revoked",
			reason: "expired",
			due_at: null,
			closed_at: "2030-01-01T00:00:00.000Z",
		},
	);
	const facts = { lease_id: lease.id, engine: "keyvalue", name: lease.name, reason: "expired" };
	assert.deepEqual(await since(start), [
		["lease.revoking", facts],
		["lease.revoked", facts],
	]);
});

test("an event of the reaper is the system's, and belongs to the lease's realm", async (t) => {
	const { add, needs, realm, store } = await setUp(t);
	const lease = await add("revoking");
	await revokeCredential(needs, lease.id);
	const query = { scopes: [{ realm_ids: [realm.id] }], realm: undefined, type: "lease.revoked", actors: undefined };
	const [event] = await store.audit.list(query, undefined, 1);
	assert.equal(event?.actor, "system");
	assert.equal(event.realm_id, realm.id);
	assert.equal(event.realm, lease.realm);
});

test("a lease that was asked for keeps its reason, and an uncertain one ends as aborted", async (t) => {
	const { add, needs, since, stateOf, store } = await setUp(t);
	const [revoking, uncertain] = [await add("revoking"), await add("uncertain")];
	const start = await countEvents(store);
	await revokeCredential(needs, revoking.id);
	await revokeCredential(needs, uncertain.id);
	assert.deepEqual([await stateOf(revoking), await stateOf(uncertain)], ["revoked", "aborted"]);
	assert.deepEqual(
		(await since(start)).map(([type, { reason }]) => [type, reason]),
		[
			["lease.revoked", "requested"],
			["lease.aborted", "uncertain"],
		],
	);
});

test("an intent that was not confirmed in time becomes uncertain and is revoked", async (t) => {
	const { add, needs, stateOf, at } = await setUp(t);
	const lease = await add("intent");
	at("a").before = async ({ state }) => assert.equal(state, "uncertain");
	await revokeCredential(needs, lease.id);
	assert.equal(await stateOf(lease), "aborted");
});

test("a lease that is closed, or does not exist, is left alone", async (t) => {
	const { add, needs, at, store } = await setUp(t);
	const closed = [await add("revoked"), await add("aborted"), await add("abandoned")];
	const start = await countEvents(store);
	for (const { id } of [...closed, { id: "nothing" }]) assert.equal(await revokeCredential(needs, id), undefined);
	assert.equal(at("a").removals, 0);
	assert.equal(await countEvents(store), start);
});

test("each failure is kept with its message, and the pause may double each time up to five minutes", async (t) => {
	const { add, needs, at, read } = await setUp(t);
	const lease = await add("revoking");
	at("a").mood = "away";
	const most = { ...needs, system: { ...needs.system, randomBytes: () => Buffer.alloc(4, 0xff) } };
	const pauses: number[] = [];
	for (let attempt = 1; attempt <= 12; attempt++) {
		await revokeCredential(most, lease.id);
		const { attempts, last_error, due_at, state } = await read(lease);
		assert.deepEqual(
			{ attempts, last_error, state },
			{ attempts: attempt, last_error: "connection refused", state: "revoking" },
		);
		pauses.push(((due_at ?? 0) - START + 1) / 1000);
	}
	assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
	const least = { ...needs, system: { ...needs.system, randomBytes: () => Buffer.alloc(4) } };
	await revokeCredential(least, lease.id);
	assert.equal((await read(lease)).due_at, START, "the pause is drawn from nothing on");
});

for (const [mood, message] of [
	["denied", "no permission"],
	["rejecting", "it said no"],
	["lying", "it is still there"],
] as const) {
	test(`a target that is ${mood} leaves the lease open`, async (t) => {
		const { add, needs, at, read } = await setUp(t);
		const lease = await add("active");
		at("a").mood = mood;
		await revokeCredential(needs, lease.id);
		const { state, attempts, last_error } = await read(lease);
		assert.deepEqual({ state, attempts, last_error }, { state: "revoking", attempts: 1, last_error: message });
	});
}

test("an exception counts as a target that is away, and nothing of it is shown", async (t) => {
	const { add, needs, read, entries } = await setUp(t);
	const lease = await add("revoking");
	const broken: RevokeNeeds = {
		...needs,
		remove: async () => {
			throw new Error("mongodb://admin:hunter2@db");
		},
	};
	const attempt = await revokeCredential(broken, lease.id);
	assert.equal(attempt?.removal.outcome, "unreachable");
	assert.match((await read(lease)).last_error, /\blog$/);
	const logged = entries();
	assert.equal(logged[0]?.event, "lease.remove.failed");
	assert.doesNotMatch(JSON.stringify(logged), /hunter2/);
});

test("a message is cut at 500 characters", async (t) => {
	const { add, needs, read } = await setUp(t);
	const lease = await add("revoking");
	const remove: RevokeNeeds["remove"] = async () => ({ outcome: "rejected", message: "x".repeat(5000) });
	await revokeCredential({ ...needs, remove }, lease.id);
	assert.equal((await read(lease)).last_error.length, 500);
});

test("where a create may still land, the credential is looked at again until 20 minutes are over", async (t) => {
	const { add, needs, at, read, system, stateOf } = await setUp(t);
	const lease = await add("uncertain");
	at("a").mood = "unsure";
	const looks: number[] = [];
	while ((await stateOf(lease)) === "uncertain") {
		looks.push((system.now().getTime() - START) / 1000);
		await revokeCredential(needs, lease.id);
		const { due_at } = await read(lease);
		if (due_at !== null) system.advance(due_at - system.now().getTime());
	}
	assert.deepEqual(looks, [0, 5, 30, 120, 600, 1200]);
	assert.equal(await stateOf(lease), "aborted");
});

test("a create that lands late is removed at the next look", async (t) => {
	const { add, needs, at, system } = await setUp(t);
	const lease = await add("uncertain");
	at("a").mood = "unsure";
	await revokeCredential(needs, lease.id);
	at("a").names.add(lease.name);
	system.advance(5000);
	await revokeCredential(needs, lease.id);
	assert.deepEqual([...at("a").names], []);
});

test("failures do not count as looks: after a failure the checks begin again", async (t) => {
	const { add, needs, at, read, stateOf } = await setUp(t);
	const lease = await add("uncertain");
	at("a").mood = "unsure";
	for (let look = 0; look < 5; look++) await revokeCredential(needs, lease.id);
	at("a").mood = "away";
	for (let failure = 0; failure < 20; failure++) await revokeCredential(needs, lease.id);
	assert.equal((await read(lease)).attempts, 20);
	at("a").mood = "unsure";
	for (let look = 1; look <= 5; look++) {
		await revokeCredential(needs, lease.id);
		assert.equal((await read(lease)).attempts, look);
	}
	await revokeCredential(needs, lease.id);
	assert.equal(await stateOf(lease), "aborted");
});

for (const attempts of ["5", "9223372036854775807"]) {
	test(`${attempts} checks written by another program do not settle a lease while a create may still take effect`, async (t) => {
		const { add, needs, at, file, read, system, stateOf } = await setUp(t);
		const lease = await add("uncertain", { id: newIdAt(START) });
		at("a").mood = "unsure";
		await revokeCredential(needs, lease.id);
		const otherWriter = openWriter(file);
		t.after(() => void otherWriter.close());
		do {
			otherWriter.exec(`UPDATE lease SET attempts = ${attempts}`);
			await nextTurn();
			const { due_at } = await read(lease);
			system.advance((due_at ?? 0) - system.now().getTime());
			await revokeCredential(needs, lease.id);
		} while ((await stateOf(lease)) === "uncertain" && system.now().getTime() < START + 2_000_000);
		assert.equal(await stateOf(lease), "aborted");
		assert.ok(system.now().getTime() >= START + 1_200_000);
	});
}

test("failures are recorded whatever number of attempts another program wrote", async (t) => {
	const { add, needs, at, file, read } = await setUp(t);
	const lease = await add("revoking");
	at("a").mood = "away";
	const otherWriter = openWriter(file);
	otherWriter.exec("UPDATE lease SET attempts = 9223372036854775807");
	otherWriter.close();
	await nextTurn();
	await revokeCredential(needs, lease.id);
	assert.equal((await read(lease)).last_error, "connection refused");
});

/** Steps of taking a credential back at which a server may end. */
const STEPS = ["byId", "doubt", "revoke", "remove", "settle", "postpone"] as const;

/** Revokes a credential in a server that ends before or after the first call of a step. */
async function die(
	needs: RevokeNeeds,
	id: string,
	step: (typeof STEPS)[number],
	when: "before" | "after",
): Promise<void> {
	const death = Promise.withResolvers<void>();
	const fragile =
		<Args extends unknown[], Result>(name: string, run: (...args: Args) => Result | Promise<Result>) =>
		async (...args: Args): Promise<Result> => {
			if (name !== step) return run(...args);
			if (when === "after") await run(...args);
			death.resolve();
			return new Promise<never>(() => undefined);
		};
	const { byId, doubt, revoke, settle, postpone } = needs.store.leases;
	const leases = {
		byId: fragile("byId", byId),
		doubt: fragile("doubt", doubt),
		revoke: fragile("revoke", revoke),
		settle: fragile("settle", settle),
		postpone: fragile("postpone", postpone),
	};
	const end = revokeCredential({ ...needs, store: { leases }, remove: fragile("remove", needs.remove) }, id);
	await Promise.race([end, death.promise]);
}

for (const state of ["active", "revoking", "uncertain", "intent"] as const) {
	test(`however often the server dies while it revokes a lease that is ${state}, the end is the same`, async (t) => {
		const { add, needs, at, store, since } = await setUp(t);
		for (const step of STEPS) {
			for (const when of ["before", "after"] as const) {
				for (const again of STEPS) {
					const lease = await add(state);
					const start = await countEvents(store);
					await die(needs, lease.id, step, when);
					await die(needs, lease.id, again, "after");
					if ((await store.leases.byId(lease.id))?.state === "intent")
						await store.leases.recover({ due_at: START, last_error: "cut off" });
					await revokeCredential(needs, lease.id);
					const end = (await store.leases.byId(lease.id))?.state;
					assert.equal(
						end,
						state === "intent" || state === "uncertain" ? "aborted" : "revoked",
						`${step} ${when} ${again}`,
					);
					assert.ok(!at("a").names.has(lease.name), `${step} ${when} ${again}`);
					const closing = (await since(start)).filter(([type]) => type === "lease.revoked" || type === "lease.aborted");
					assert.equal(closing.length, 1, `${step} ${when} ${again}`);
				}
			}
		}
	});
}
