import assert from "node:assert/strict";
import { test } from "node:test";
import { countEvents, eventsAfter } from "../testing/events.ts";
import { anEvent, newIdAt } from "../testing/rows.ts";
import { openReaper, pass } from "./testing.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
const IN_QUARANTINE = "it is absent, but a create that was sent may still land";

const failed = async (
	{ store, realm }: Pick<Awaited<ReturnType<typeof openReaper>>, "store" | "realm">,
	start: number,
) =>
	(await eventsAfter(store, start, [realm.id]))
		.filter(([type]) => type === "lease.revoke_failed")
		.map(([, data]) => data);

async function addMany({ add }: Pick<Awaited<ReturnType<typeof openReaper>>, "add">, count: number, target = "a") {
	return Promise.all(Array.from({ length: count }, () => add("active", { target })));
}

test("a target that is away for half an hour gets probes and hardly any removals, and all leases within ten seconds of its return", async (t) => {
	const opened = await openReaper(t);
	const { at, reaper, store, stateOf, lags } = opened;
	const leases = await addMany(opened, 100);
	const start = await countEvents(store);
	at("a").mood = "away";
	await reaper.runOnce();
	for (let minute = 0; minute < 30; minute++) {
		const { probes, removals } = at("a");
		await pass(opened, 60);
		assert.ok(at("a").probes - probes <= 15, `${at("a").probes - probes} probes`);
		assert.equal(at("a").removals - removals, 0);
	}
	assert.ok(at("a").removals <= 5 + 8);
	const [report] = reaper.targets();
	assert.deepEqual([report?.state, report?.message, report?.waiting], ["away", "connection refused", true]);
	at("a").mood = "well";
	await pass(opened, 10);
	assert.deepEqual(new Set(await Promise.all(leases.map(stateOf))), new Set(["revoked"]));
	assert.equal(reaper.targets()[0]?.state ?? "healthy", "healthy");
	assert.equal(lags.length, 100);
	assert.ok(Math.min(...lags) >= 30 * 60_000);
	const flags = (await failed(opened, start)).map(({ flag }) => flag);
	assert.ok(flags.length <= 2 * (1 + 13), "the target is reported, not each lease that waits");
});

test("a lease whose target is away stays revoking, is reported twice, and is revoked when the target returns", async (t) => {
	const opened = await openReaper(t);
	const { add, at, store, stateOf, reaper, entries } = opened;
	const lease = await add("active");
	const start = await countEvents(store);
	at("a").mood = "away";
	await reaper.runOnce();
	await pass(opened, 30 * 60);
	assert.equal(await stateOf(lease), "revoking");
	const reported = await failed(opened, start);
	const ofLease = reported.filter(({ lease_id }) => lease_id === lease.id).map(({ flag, reason }) => [flag, reason]);
	assert.deepEqual(ofLease, [
		["overdue", "expired"],
		["stuck", "expired"],
	]);
	const ofTarget = reported.filter(({ target }) => target === "a").map(({ flag, state }) => [flag, state]);
	assert.deepEqual(ofTarget, [
		["overdue", "away"],
		["stuck", "away"],
	]);
	assert.equal(entries().filter(({ event }) => event === "lease.target.away").length, 1);
	assert.ok(reaper.lateness().stuck > 0);
	at("a").mood = "well";
	await pass(opened, 10);
	assert.equal(await stateOf(lease), "revoked");
	assert.deepEqual(reaper.lateness(), { overdue: 0, stuck: 0, oldest_ms: 0 });
});

test("leases that were put off far into the future are tried within ten seconds of their target's return", async (t) => {
	const opened = await openReaper(t);
	const { add, at, store, stateOf, reaper } = opened;
	const leases = await Promise.all(Array.from({ length: 5 }, () => add("revoking")));
	const early = await add("active", { due_at: START + 280_000 });
	const quarantined = await add("uncertain");
	at("a").mood = "away";
	await reaper.runOnce();
	await pass(opened, 30);
	for (const { id } of [...leases, quarantined]) {
		const last_error = id === quarantined.id ? IN_QUARANTINE : "connection refused";
		await store.leases.postpone({ id, due_at: START + 290_000, attempts: 12, last_error });
	}
	await pass(opened, 30);
	at("a").mood = "well";
	await pass(opened, 10);
	assert.deepEqual(new Set(await Promise.all(leases.map(stateOf))), new Set(["revoked"]));
	assert.equal(await stateOf(early), "active", "nobody's time is cut short by that");
	assert.equal(await stateOf(quarantined), "uncertain", "nor is the quarantine");
});

test("leases that were put off are tried soon after their target's return, however many others end before their next try", async (t) => {
	const opened = await openReaper(t);
	const { add, at, store, stateOf, reaper } = opened;
	const leases = await Promise.all(Array.from({ length: 5 }, () => add("revoking")));
	const early = await Promise.all(Array.from({ length: 600 }, () => add("active", { due_at: START + 250_000 })));
	at("a").mood = "away";
	await reaper.runOnce();
	await pass(opened, 30);
	const put_off = { due_at: START + 290_000, attempts: 12, last_error: "connection refused" };
	for (const { id } of leases) await store.leases.postpone({ id, ...put_off });
	at("a").mood = "well";
	await pass(opened, 10);
	assert.deepEqual(new Set(await Promise.all(leases.map(stateOf))), new Set(["revoked"]));
	assert.deepEqual(new Set(await Promise.all(early.map(stateOf))), new Set(["active"]));
});

test("a target that answers probes but no removals gets one removal a probe", async (t) => {
	const opened = await openReaper(t);
	const { at, reaper } = opened;
	await addMany(opened, 100);
	at("a").mood = "away";
	at("a").probe = async () => ({ outcome: "healthy", message: "" });
	await reaper.runOnce();
	await pass(opened, 60);
	const { removals } = at("a");
	await pass(opened, 60);
	assert.ok(at("a").removals - removals <= 15, `${at("a").removals - removals} removals`);
	at("a").mood = "well";
	await pass(opened, 10);
	assert.equal(at("a").names.size, 0);
});

test("a target without rights is blocked with one alarm, probed each minute, and drained once they are given", async (t) => {
	const opened = await openReaper(t);
	const { at, reaper, entries, stateOf } = opened;
	const leases = await addMany(opened, 50);
	at("a").mood = "denied";
	await reaper.runOnce();
	assert.equal(reaper.targets()[0]?.state, "blocked");
	assert.ok(at("a").removals <= 9);
	await pass(opened, 10 * 60);
	assert.equal(at("a").probes, 10);
	assert.ok(at("a").removals <= 9, `${at("a").removals} removals`);
	assert.equal(entries().filter(({ event }) => event === "lease.target.blocked").length, 1);
	at("a").mood = "well";
	await pass(opened, 60);
	assert.deepEqual(new Set(await Promise.all(leases.map(stateOf))), new Set(["revoked"]));
});

test("after a change of configuration nobody waits for the next minute", async (t) => {
	const opened = await openReaper(t);
	const { at, reaper } = opened;
	await addMany(opened, 50);
	at("a").mood = "denied";
	await reaper.runOnce();
	await pass(opened, 5);
	at("a").mood = "well";
	reaper.reconsider();
	await reaper.runOnce();
	assert.equal(at("a").names.size, 0);
});

test("one lease that is denied does not keep the others of its target waiting", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, stateOf } = opened;
	const poison = await add("active", { due_at: START - 1000 });
	at("a").forbidden.add(poison.name);
	await addMany(opened, 50);
	await reaper.runOnce();
	await pass(opened, 2);
	assert.deepEqual([...at("a").names], [poison.name]);
	assert.equal(await stateOf(poison), "revoking");
	const { removals } = at("a");
	await pass(opened, 10 * 60);
	assert.ok(at("a").removals - removals <= 40, `${at("a").removals - removals} removals`);
});

test("a target that says done and keeps the credential leaves the lease open and is reported", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, store, stateOf } = opened;
	const lease = await add("active");
	const start = await countEvents(store);
	at("a").mood = "lying";
	await pass(opened, 20 * 60);
	assert.equal(await stateOf(lease), "revoking");
	assert.deepEqual(
		(await failed(opened, start)).map(({ flag, lease_id }) => [flag, lease_id]),
		[
			["overdue", lease.id],
			["stuck", lease.id],
		],
	);
	assert.equal(reaper.lateness().stuck, 1);
	assert.equal(reaper.targets()[0]?.state, "healthy");
});

test("a credential that cannot be removed counts as late, whatever creation time another program wrote", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, clock, store } = opened;
	const lease = await add("uncertain", { id: newIdAt(clock.now()), created_at: "what another program wrote" });
	await store.leases.postpone({
		id: lease.id,
		due_at: clock.now(),
		attempts: 1,
		last_error: "an earlier server tried",
	});
	at("a").mood = "lying";
	await pass(opened, 120);
	const { overdue, oldest_ms } = reaper.lateness();
	assert.deepEqual([overdue, Number.isNaN(oldest_ms)], [1, false], lease.id);
});

test("an abandoned lease no longer counts as late, and is no longer reported", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, store } = opened;
	const lease = await add("active");
	at("a").mood = "lying";
	await pass(opened, 120);
	assert.equal(reaper.lateness().overdue, 1);
	await store.leases.abandon({ id: lease.id, closed_at: lease.created_at }, anEvent());
	const start = await countEvents(store);
	await pass(opened, 15 * 60);
	assert.deepEqual(reaper.lateness(), { overdue: 0, stuck: 0, oldest_ms: 0 });
	assert.deepEqual(await failed(opened, start), []);
});

test("a credential missing at the target counts as revoked", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, stateOf } = opened;
	const lease = await add("active");
	at("a").names.clear();
	await reaper.runOnce();
	assert.equal(await stateOf(lease), "revoked");
});

test("a target that is away is not asked when a person revokes, and a probe that throws is one that failed", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, entries } = opened;
	await addMany(opened, 5);
	at("a").mood = "away";
	at("a").probe = async () => assert.fail("redis://admin:hunter2@db");
	await reaper.runOnce();
	const { removals } = at("a");
	const lease = await add("revoking");
	assert.deepEqual(await reaper.revokeNow(lease), { outcome: "unreachable", message: "connection refused" });
	assert.equal(at("a").removals, removals);
	await pass(opened, 5);
	assert.equal(reaper.targets()[0]?.state, "away");
	assert.ok(entries().some(({ event }) => event === "lease.probe.failed"));
	assert.doesNotMatch(JSON.stringify(entries()), /hunter2/);
});

test("a target that is back is healthy though no lease is due there", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, store } = opened;
	const lease = await add("revoking");
	await add("active", { due_at: START + 3_600_000 });
	at("a").mood = "denied";
	await reaper.runOnce();
	await store.leases.settle({ id: lease.id, closed_at: lease.created_at }, anEvent());
	at("a").mood = "well";
	await pass(opened, 60);
	assert.equal(reaper.targets()[0]?.state, "healthy");
});

test("how late a credential was counts from when it was to go, however often it was put off", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, lags } = opened;
	await add("revoking");
	at("a").mood = "lying";
	await reaper.runOnce();
	await pass(opened, 100);
	at("a").mood = "well";
	await pass(opened, 300);
	assert.equal(lags.length, 1);
	assert.ok((lags[0] ?? 0) >= 100_000);
});

test("a credential that is absent, though for how long is not certain, is not late", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper } = opened;
	await add("uncertain");
	at("a").mood = "lying";
	await reaper.runOnce();
	await pass(opened, 100);
	assert.equal(reaper.lateness().overdue, 1);
	at("a").mood = "unsure";
	await pass(opened, 300);
	assert.deepEqual(reaper.lateness(), { overdue: 0, stuck: 0, oldest_ms: 0 });
});

test("a target without open leases is forgotten, whatever it was", async (t) => {
	const opened = await openReaper(t);
	const { add, at, reaper, store } = opened;
	const lease = await add("revoking");
	at("a").mood = "denied";
	await reaper.runOnce();
	assert.equal(reaper.targets().length, 1);
	await store.leases.abandon({ id: lease.id, closed_at: lease.created_at }, anEvent());
	await reaper.runOnce();
	assert.deepEqual(reaper.targets(), []);
});
