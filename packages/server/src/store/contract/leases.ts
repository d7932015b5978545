import assert from "node:assert/strict";
import { after, test } from "node:test";
import { LEASE_STATES, type Lease, type LeaseState } from "../../leases/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import { aLease, anEvent, newId } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the states of leases. */
export async function leaseContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { leases } = store;
	const owner = await addAccount(store);

	const LATER = "2030-01-01T02:00:00.000Z";
	const LATER_MS = Date.parse(LATER);

	/** An operation on a lease, and its result in each state. */
	interface Operation {
		run(lease: Lease): Promise<unknown>;
		/** State to which it leads, by the state that it starts from. */
		leads: Partial<Record<LeaseState, LeaseState>>;
		/** Other columns that it changes. */
		sets: Partial<Lease> | ((before: Lease) => Partial<Lease>);
		/** Its answer when it changed something, and when not. */
		answers: readonly [changed: unknown, unchanged: unknown] | ((before: LeaseState) => unknown);
		/** Events it writes when it changed something, and when not. */
		events: readonly [changed: number, unchanged: number];
	}

	const CLOSED: Partial<Lease> = { due_at: null, closed_at: LATER, payload: null };
	const closing = (id: string) => ({ id, closed_at: LATER });
	const ENDED = {
		sets: CLOSED,
		answers: [true, false],
		events: [1, 0],
	} as const;

	const OPERATIONS: Record<string, Operation> = {
		activate: {
			run: ({ id }) =>
				leases.activate(
					{ id, name: `new ${id}`, expires_at: LATER, payload: Buffer.of(9), due_at: LATER_MS },
					anEvent(),
				),
			leads: { intent: "active" },
			sets: ({ id }) => ({ name: `new ${id}`, expires_at: LATER, payload: Buffer.of(9), due_at: LATER_MS }),
			answers: ["done", "lost"],
			events: [1, 0],
		},
		doubt: {
			run: ({ id }) => leases.doubt({ id, due_at: LATER_MS, last_error: "the target hung up" }),
			leads: { intent: "uncertain" },
			sets: { reason: "uncertain", due_at: LATER_MS, last_error: "the target hung up" },
			answers: [true, false],
			events: [0, 0],
		},
		abort: { ...ENDED, run: ({ id }) => leases.abort(closing(id), anEvent()), leads: { intent: "aborted" } },
		revoke: {
			run: ({ id }) => leases.revoke({ id, due_at: LATER_MS, reason: "undelivered" }, anEvent()),
			leads: { active: "revoking" },
			sets: { due_at: LATER_MS, reason: "undelivered" },
			answers: (before) => before,
			events: [1, 0],
		},
		revokeMany: {
			run: ({ user_id }) =>
				leases.revokeMany({ user_id, realm_id: undefined, engine: undefined, now_ms: LATER_MS }, anEvent()),
			leads: { intent: "intent", active: "revoking" },
			sets: ({ state }) => ({ reason: "requested", ...(state === "intent" ? {} : { due_at: LATER_MS }) }),
			answers: [1, 0],
			events: [1, 1],
		},
		"realms.remove": {
			run: ({ realm_id }) => store.realms.remove({ id: realm_id, deleted_at: LATER }, anEvent()),
			leads: { active: "revoking" },
			sets: { due_at: LATER_MS, reason: "realm_deleted" },
			answers: [true, true],
			events: [1, 1],
		},
		settle: {
			...ENDED,
			run: ({ id }) => leases.settle(closing(id), anEvent()),
			leads: { revoking: "revoked", uncertain: "aborted" },
			sets: { ...CLOSED, last_error: "" },
		},
		postpone: {
			run: ({ id }) => leases.postpone({ id, due_at: LATER_MS, attempts: 3, last_error: "away" }),
			leads: { revoking: "revoking", uncertain: "uncertain" },
			sets: { due_at: LATER_MS, attempts: 3, last_error: "away" },
			answers: [undefined, undefined],
			events: [0, 0],
		},
		abandon: {
			...ENDED,
			run: ({ id }) => leases.abandon(closing(id), anEvent()),
			leads: { intent: "abandoned", active: "abandoned", uncertain: "abandoned", revoking: "abandoned" },
		},
		reopen: {
			run: ({ id }) => leases.reopen({ id, due_at: LATER_MS }, anEvent()),
			leads: { revoked: "revoking", aborted: "revoking", abandoned: "revoking" },
			sets: { due_at: LATER_MS, reason: "zombie", closed_at: null },
			answers: [true, false],
			events: [1, 0],
		},
		markLost: {
			run: ({ id }) => leases.markLost({ id, last_error: "not at its target" }, anEvent()),
			leads: { active: "active" },
			sets: { last_error: "not at its target" },
			answers: [true, false],
			events: [1, 0],
		},
		delivered: {
			run: ({ id }) => leases.delivered({ ids: [newId(), id], at: LATER }),
			leads: Object.fromEntries(LEASE_STATES.map((state) => [state, state])),
			sets: { delivered_at: LATER },
			answers: [undefined, undefined],
			events: [0, 0],
		},
	};

	for (const [name, { run, leads, sets, answers, events }] of Object.entries(OPERATIONS)) {
		for (const state of LEASE_STATES) {
			const next = leads[state];
			test(`${name} ${next === undefined ? "leaves a lease alone that is" : `leads to ${next} from`} ${state}`, async () => {
				const realm = await addRealm(store, owner);
				const before = await addLease(store, state, aLease(realm.id, { user_id: newId() }));
				const start = await countEvents(store);
				const answer = await run(before);
				const changes =
					next === undefined ? {} : { state: next, ...(typeof sets === "function" ? sets(before) : sets) };
				assert.deepEqual({ ...(await leases.byId(before.id)) }, { ...before, ...changes });
				const index = next === undefined ? 1 : 0;
				assert.deepEqual(answer, typeof answers === "function" ? answers(state) : answers[index]);
				assert.equal(await countEvents(store), start + events[index]);
			});
		}
	}

	test("no operation finds a lease that never was", async () => {
		const nowhere = { ...aLease("nowhere"), state: "active" } as unknown as Lease;
		const start = await countEvents(store);
		for (const [name, { run, answers }] of Object.entries(OPERATIONS)) {
			if (name === "revokeMany" || name === "realms.remove") continue;
			assert.deepEqual(await run(nowhere), typeof answers === "function" ? undefined : answers[1], name);
		}
		assert.equal(await countEvents(store), start);
	});

	const RACES: Record<string, [state: LeaseState, operations: string[]]> = {
		"an answer and a doubt": ["intent", ["activate", "doubt"]],
		"a doubt and an answer": ["intent", ["doubt", "activate"]],
		"a refusal and an answer": ["intent", ["abort", "activate"]],
		"a person and the clock": ["active", ["revoke", "revoke"]],
		"abandoning and revoking": ["active", ["abandon", "revoke"]],
		"two proofs that it is gone": ["revoking", ["settle", "settle"]],
		"two looks that find it again": ["revoked", ["reopen", "reopen"]],
	};
	for (const [who, [state, names]] of Object.entries(RACES)) {
		test(`when ${who} come at the same moment, the first changes the lease and the second changes nothing`, async () => {
			const realm = await addRealm(store, owner);
			const before = await addLease(store, state, aLease(realm.id));
			const [first, second] = names.map((name) => OPERATIONS[name] ?? assert.fail(name));
			const start = await countEvents(store);
			await Promise.all([first?.run(before), second?.run(before)]);
			const sets = typeof first?.sets === "function" ? first.sets(before) : first?.sets;
			assert.deepEqual({ ...(await leases.byId(before.id)) }, { ...before, state: first?.leads[state], ...sets });
			assert.equal(await countEvents(store), start + (first?.events[0] ?? 0));
		});
	}

	test("a lost lease is noted once for each reason", async () => {
		const realm = await addRealm(store, owner);
		const { id } = await addLease(store, "active", aLease(realm.id));
		const mark = (last_error: string) => leases.markLost({ id, last_error }, anEvent());
		assert.deepEqual([await mark("gone"), await mark("gone"), await mark("gone again")], [true, false, true]);
	});

	test("leases postponed at a target are due immediately, except what is in quarantine and what was not put off", async () => {
		const realm = await addRealm(store, owner);
		const target = newId();
		const made = new Map<LeaseState, Lease>();
		for (const state of LEASE_STATES)
			made.set(state, await addLease(store, state, aLease(realm.id, { target, due_at: 500 })));
		const quarantined = await addLease(store, "uncertain", aLease(realm.id, { target, due_at: 500 }));
		await leases.postpone({ id: quarantined.id, due_at: 500, attempts: 1, last_error: "quarantine" });
		const others = [
			{ target: newId(), due_at: 500 },
			{ target, due_at: 501 },
			{ target, due_at: 99 },
		];
		for (const given of others) await addLease(store, "revoking", aLease(realm.id, given));
		const many = Array.from({ length: 250 }, () =>
			addLease(store, "revoking", aLease(realm.id, { target, due_at: 400 })),
		);
		await Promise.all(many);
		const hasten = () => leases.hasten({ target, now_ms: 100, until_ms: 500, but_for: "quarantine" });
		assert.deepEqual([await hasten(), await hasten()], [252, 0]);
		const [oldest, ...due] = await leases.due(target, 100, 1000);
		assert.deepEqual([oldest?.due_at, due.length, new Set(due.map(({ due_at }) => due_at))], [99, 252, new Set([100])]);
		for (const [state, lease] of made) {
			const isPutOff = state === "revoking" || state === "uncertain";
			assert.deepEqual({ ...(await leases.byId(lease.id)) }, { ...lease, ...(isPutOff ? { due_at: 100 } : {}) }, state);
		}
	});

	test("no lease that the store itself wrote is distrusted", async () => {
		const realm = await addRealm(store, owner);
		const lease = await addLease(store, "active", aLease(realm.id));
		assert.equal(await leases.distrust({ due_at: 7 }), 0);
		assert.deepEqual({ ...(await leases.byId(lease.id)) }, { ...lease });
	});

	test("a lease that is revoked without a time stays due when it was", async () => {
		const realm = await addRealm(store, owner);
		const before = await addLease(store, "active", aLease(realm.id));
		assert.equal(await leases.revoke({ id: before.id, reason: "expired" }, anEvent()), "active");
		assert.deepEqual({ ...(await leases.byId(before.id)) }, { ...before, state: "revoking", reason: "expired" });
	});

	test("an answer that was delivered is not delivered later", async () => {
		const realm = await addRealm(store, owner);
		const made = await Promise.all([1, 2].map(() => addLease(store, "active", aLease(realm.id))));
		const [one = "", two = ""] = made.map(({ id }) => id);
		await leases.delivered({ ids: [one], at: "2030-01-01T00:00:01.000Z" });
		await leases.delivered({ ids: [one, two], at: LATER });
		await leases.delivered({ ids: [], at: LATER });
		const at = async (id: string) => (await leases.byId(id))?.delivered_at;
		assert.deepEqual([await at(one), await at(two)], ["2030-01-01T00:00:01.000Z", LATER]);
	});

	test("many are revoked by realm, user and engine, or what these have in common, and the event says how many", async () => {
		const [one, two] = [await addRealm(store, owner), await addRealm(store, owner)];
		const [ada, bob] = [newId(), newId()];
		const made: Lease[] = [];
		for (const realm_id of [one.id, two.id])
			for (const user_id of [ada, bob])
				for (const engine of ["keyvalue", `own ${ada}`])
					made.push(await addLease(store, "active", aLease(realm_id, { user_id, engine })));
		const revokeMany = (realm_id?: string, user_id?: string, engine?: string) =>
			leases.revokeMany({ realm_id, user_id, engine, now_ms: LATER_MS }, anEvent({ type: "lease.revoking" }));
		const start = await countEvents(store);
		assert.equal(await revokeMany(one.id, ada, "keyvalue"), 1);
		assert.equal(await revokeMany(one.id, ada), 1, "the other engine's");
		assert.equal(await revokeMany(undefined, ada, `own ${ada}`), 1, "the other realm's");
		assert.equal(await revokeMany(undefined, undefined, `own ${ada}`), 2);
		assert.equal(await revokeMany(one.id), 1);
		assert.equal(await revokeMany(one.id), 0);
		const left = await Promise.all(made.map(({ id }) => leases.byId(id)));
		assert.deepEqual(
			left.filter((lease) => lease?.state === "active").map((lease) => [lease?.realm_id, lease?.engine]),
			[
				[two.id, "keyvalue"],
				[two.id, "keyvalue"],
			],
		);
		const counted = [1, 1, 1, 2, 1, 0].map((count) => ["lease.revoking", { count }]);
		assert.deepEqual(await eventsAfter(store, start), counted);
	});

	test("intents of a server that is gone are uncertain and due immediately, and no others", async (t) => {
		const { store: crashed } = await openStore(t);
		const realm = await addRealm(crashed, await addAccount(crashed));
		const before = new Map<LeaseState, Lease>();
		for (const state of LEASE_STATES) before.set(state, await addLease(crashed, state, aLease(realm.id)));
		await crashed.leases.begin(aLease(realm.id, { target: "elsewhere" }), null, anEvent());
		assert.equal(
			await crashed.leases.recover({ due_at: 5, last_error: "the server stopped before it was finished" }),
			2,
		);
		assert.equal(
			await crashed.leases.recover({ due_at: 6, last_error: "the server stopped before it was finished" }),
			0,
		);
		for (const [state, lease] of before) {
			const last_error = "the server stopped before it was finished";
			const changes = state === "intent" ? { state: "uncertain", reason: "uncertain", due_at: 5, last_error } : {};
			assert.deepEqual({ ...(await crashed.leases.byId(lease.id)) }, { ...lease, ...changes });
		}
		assert.equal(await crashed.leases.nextDue(), 5);
	});

	test("the clock is as it was last written down, also when the store is opened again", async (t) => {
		const { store: first, reopen } = await openStore(t);
		assert.equal(await first.leases.clock(), undefined);
		for (const lease_ms of [1000, 2000]) await first.leases.saveClock({ lease_ms, uptime_ms: 7, boot_id: "boot" });
		await first.close();
		const { store: second } = await reopen();
		assert.deepEqual(await second.leases.clock(), { lease_ms: 2000, uptime_ms: 7, boot_id: "boot" });
	});
}
