/* Leases of two servers that share one database of a real PostgreSQL. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { createRowMacs, rowTextOf } from "../../crypto/row-macs.ts";
import { openLeaseClock } from "../../leases/clock.ts";
import type { Lease, Removal } from "../../leases/model.ts";
import { openPause } from "../../leases/pause.ts";
import { createReaper } from "../../leases/reaper.ts";
import { countEvents, eventsAfter, isChainIntact } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import { createTestLog } from "../../testing/log.ts";
import { aLease, anEvent, MADE_AT, newId, reportNoKeys } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { ROW_KEY } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import type { Store } from "../store.ts";
import { createClaims } from "./claims.ts";
import { ConnectionLost } from "./connection.ts";
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
const NOW_MS = Date.parse(MADE_AT);
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens two stores on a new database, as servers do, with a realm in it. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const { here, there, runSql } = await openPostgresTestPair(t, await server);
	for (const store of [here, there])
		await store.join(
			{ id: newId(), name: "n", version: "0.1.0", address: "https://n", started_at: MADE_AT },
			reportNoKeys,
		);
	const realm = await addRealm(here, await addAccount(here));
	const add = (state: "intent" | "revoking", due_at = NOW_MS) =>
		addLease(here, state, aLease(realm.id, { target: "a", due_at }));
	const lapse = () => runSql("UPDATE svc.lease_claim SET until = clock_timestamp()");
	return { here, there, realm, add, lapse, runSql };
}

const settle = (store: Store, { id }: Lease) => store.leases.settle({ id, closed_at: MADE_AT }, anEvent());
const due = async (store: Store) => (await store.leases.due("a", NOW_MS, 10)).map(({ id }) => id);

test("a claimed lease is due on neither server, and the other server cannot claim it", options, async (t) => {
	const { here, there, add } = await setUp(t);
	const lease = await add("revoking");
	for (const store of [here, there]) assert.deepEqual(await due(store), [lease.id]);
	const claim = await here.claims.take(lease.id);
	assert.equal(claim?.isLive(), true);
	assert.equal(await there.claims.take(lease.id), undefined);
	for (const store of [here, there]) assert.deepEqual(await due(store), []);
	await claim?.release();
	for (const store of [here, there]) assert.deepEqual(await due(store), [lease.id]);
	assert.ok(await there.claims.take(lease.id));
});

test("a lease is settled once, by the server that has claimed it", options, async (t) => {
	const { here, there, add } = await setUp(t);
	const lease = await add("revoking");
	assert.equal(await settle(here, lease), false);
	await here.claims.take(lease.id);
	const start = await countEvents(here);
	assert.equal(await settle(there, lease), false);
	assert.equal(await countEvents(here), start);
	assert.equal(await settle(here, lease), true);
	assert.equal(await settle(here, lease), false);
	assert.equal((await there.leases.byId(lease.id))?.state, "revoked");
});

test("a server that slept past its claim settles nothing, and the other one does", options, async (t) => {
	const { here, there, add, lapse } = await setUp(t);
	const lease = await add("revoking");
	const slept = await here.claims.take(lease.id);
	await lapse();
	assert.deepEqual(await due(there), [lease.id]);
	const claim = await there.claims.take(lease.id);
	assert.ok(claim);
	assert.equal(await settle(here, lease), false);
	// What it still releases is not its own any more.
	await slept?.release();
	assert.equal(await here.claims.take(lease.id), undefined);
	assert.equal(await settle(there, lease), true);
	await claim.release();
	// A credential that came back is another attempt's.
	assert.equal(await there.leases.reopen({ id: lease.id, due_at: NOW_MS }, anEvent()), true);
	assert.equal(await settle(here, lease), false);
});

/** Puts the values of a statement into its text. */
const fill = (text: string, values: readonly unknown[]) =>
	values.reduce<string>(
		(sql, value, at) => sql.replaceAll(`$${at + 1}`, `'${Array.isArray(value) ? `{${value.join()}}` : value}'`),
		text,
	);

test("a release that a crash of the database took back is made again, and a claim in use stays", options, async (t) => {
	const { there, add, runSql } = await setUp(t);
	const lease = await add("revoking");
	const run = async (text: string, values: readonly unknown[] = []) => {
		await runSql(`SET search_path = svc; ${fill(text, values)}`);
		return 1;
	};
	const claims = createClaims((ask) => ask({ run }), "a node");
	const claim = await claims.take(lease.id);
	await claims.releaseLeft();
	assert.deepEqual(await due(there), []);
	await claim?.release();
	assert.deepEqual(await due(there), [lease.id]);
	await runSql(`INSERT INTO svc.lease_claim VALUES ('${lease.id}', 'a node', clock_timestamp() + interval '1 min')`);
	assert.deepEqual(await due(there), []);
	await claims.releaseLeft();
	assert.deepEqual(await due(there), [lease.id]);
});

for (const lost of ["TAKE", "RELEASE"])
	test(`a claim of which the answer to ${lost} was lost is released later`, options, async (t) => {
		const { here, there, add, runSql } = await setUp(t);
		const lease = await add("revoking");
		const link = { isLosing: lost === "TAKE" };
		const claims = createClaims(async (ask) => {
			const run = async (text: string, values: readonly unknown[] = []) => {
				if (link.isLosing && lost === "RELEASE") throw new ConnectionLost("before");
				const filled = fill(text, values);
				await runSql(`SET search_path = svc; ${filled}`);
				if (link.isLosing) throw new ConnectionLost("after");
				return 1;
			};
			return ask({ run });
		}, "a node");
		const claim = await claims.take(lease.id).catch(() => undefined);
		link.isLosing = true;
		await claim?.release();
		for (const store of [here, there]) assert.deepEqual(await due(store), []);
		link.isLosing = false;
		await claims.releaseLeft();
		assert.deepEqual(await due(there), [lease.id]);
		assert.ok(await there.claims.take(lease.id));
		await claims.releaseLeft();
		assert.deepEqual(await due(there), [], "only its own claim is released, once");
	});

test("a claim of a server that was stopped is not live any more", options, async (t) => {
	const { here, add } = await setUp(t);
	const lease = await add("revoking");
	t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
	const claim = await here.claims.take(lease.id);
	t.mock.timers.setTime(Date.now() + 71_000);
	assert.equal(claim?.isLive(), true);
	t.mock.timers.setTime(Date.now() + 2_000);
	assert.equal(claim?.isLive(), false);
});

test("a claim longer than a server makes is ignored", options, async (t) => {
	const { here, add, runSql } = await setUp(t);
	const lease = await add("revoking");
	await runSql(`INSERT INTO svc.lease_claim VALUES ('${lease.id}', 'nobody', 'infinity')`);
	assert.deepEqual(await due(here), [lease.id]);
	assert.ok(await here.claims.take(lease.id));
});

test("the lease clock that is saved is that of the server that is ahead", options, async (t) => {
	const { here, there } = await setUp(t);
	const [ahead, behind] = [2000, 1000].map((lease_ms) => ({ lease_ms, uptime_ms: 7, boot_id: "boot" }));
	assert.ok(ahead && behind);
	await here.leases.saveClock(ahead);
	await there.leases.saveClock(behind);
	assert.deepEqual(await there.leases.clock(), ahead);
	const later = { ...behind, lease_ms: 3000 };
	await there.leases.saveClock(later);
	assert.deepEqual(await here.leases.clock(), later);
});

/** Makes the reaper of a server whose targets are well. */
async function reaperOf(t: TestContext, store: Store, remove: (lease: Lease) => Promise<Removal>) {
	const system = createTestSystem();
	const { log } = createTestLog();
	const time = async () => system.now().getTime();
	const clock = await openLeaseClock({ store: { ...store, time }, system, log });
	const probe = async () => ({ outcome: "healthy", message: "" }) as const;
	const pause = await openPause({ store, log });
	const reaper = createReaper({ store, system, log, clock, pause, remove, probe });
	t.after(() => reaper.stop());
	return { runOnce: () => reaper.runOnce(), pause };
}

test("two servers revoke what is due, each credential once", options, async (t) => {
	const { here, there, realm, add } = await setUp(t);
	const leases = [];
	for (let count = 0; count < 30; count++) leases.push(await add("revoking"));
	const start = await countEvents(here);
	const removed: string[] = [];
	const remove = async ({ id }: Lease): Promise<Removal> => {
		removed.push(id);
		return { outcome: "absent" };
	};
	const reapers = await Promise.all([here, there].map((store) => reaperOf(t, store, remove)));
	await Promise.all(reapers.map((reaper) => reaper.runOnce()));
	assert.equal(removed.length, leases.length);
	assert.deepEqual(new Set(removed), new Set(leases.map(({ id }) => id)));
	const settled = (await eventsAfter(here, start, [realm.id])).filter(([type]) => type === "lease.revoked");
	assert.equal(settled.length, leases.length);
	assert.ok(await isChainIntact(there));
});

test("a server that starts doubts no intent of another, until it is due", options, async (t) => {
	const { there, add } = await setUp(t);
	const [young, old] = [await add("intent", NOW_MS + 60_000), await add("intent")];
	const reaper = await reaperOf(t, there, async () => ({ outcome: "absent" }));
	await reaper.runOnce();
	assert.equal((await there.leases.byId(young.id))?.state, "intent");
	assert.equal((await there.leases.byId(old.id))?.state, "aborted");
});

test("a pause of leases that one server ends has ended on the other", options, async (t) => {
	const { here, there, add, runSql } = await setUp(t);
	const lease = await add("revoking");
	const macs = createRowMacs([ROW_KEY], randomBytes);
	const mac = macs.make(rowTextOf("meta", ["leases_paused", MADE_AT])).toString("hex");
	await runSql(`INSERT INTO svc.meta (name, value, mac) VALUES ('leases_paused', '${MADE_AT}', '\\x${mac}')`);
	const reapers = await Promise.all(
		[here, there].map((store) => reaperOf(t, store, async () => ({ outcome: "absent" }))),
	);
	const [one, other] = reapers;
	assert.ok(one && other);
	await other.runOnce();
	assert.deepEqual(await Promise.all(reapers.map(({ pause }) => pause.isPaused())), [true, true]);
	assert.equal((await there.leases.byId(lease.id))?.state, "revoking");
	assert.equal(await one.pause.resume(anEvent()), true);
	await other.runOnce();
	assert.equal((await there.leases.byId(lease.id))?.state, "revoked");
	assert.deepEqual(await Promise.all(reapers.map(({ pause }) => pause.isPaused())), [false, false]);
	assert.equal(await other.pause.resume(anEvent()), false);
});

test("the database's clock judges leases on both servers, whatever their own clocks say", options, async (t) => {
	const { here, there } = await setUp(t);
	const { log } = createTestLog();
	const now = async () => (await there.time?.()) ?? assert.fail("no clock");
	for (const [store, start] of [[here, "2001-01-01T00:00:00Z"] as const, [there, "2049-01-01T00:00:00Z"] as const]) {
		const system = createTestSystem(start);
		const before = await now();
		const clock = await openLeaseClock({ store, system, log });
		assert.ok(before <= clock.now() && clock.now() <= (await now()), start);
		system.setClock("2049-12-31T00:00:00Z");
		const later = await now();
		await clock.tick();
		assert.ok(later <= clock.now() && clock.now() <= (await now()), start);
		assert.equal(clock.lastJump(), undefined);
	}
});
