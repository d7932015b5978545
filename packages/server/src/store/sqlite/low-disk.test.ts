import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../errors.ts";
import { passTime } from "../../testing/monotonic.ts";
import { anEvent, aVersion, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { makeFolder, ROW_KEY } from "../../testing/store.ts";
import { createLowDiskThrottle, type FileSystem, throttleWrites } from "./disk.ts";
import { openSqliteStore } from "./store.ts";

const low = { isLow: () => true };
const GIB = 2 ** 18;

/** A disk of 1 GiB with `mib` MiB free. */
const disk = (mib: number): FileSystem => ({ bsize: 4096, blocks: GIB, bfree: mib * 256, bavail: mib * 256 });

test("while the disk is low an account causes twenty events in any second, and so does an address", () => {
	let now = 0;
	const throttle = createLowDiskThrottle(low, () => now);
	const ask = (cause: string, times: number) =>
		Array.from({ length: times }, () => throttle.refuse(anEvent({ cause: [cause] }))).filter(
			(refusal) => refusal === undefined,
		).length;
	assert.deepEqual([ask("ada", 10), ask("192.0.2.1", 30), ask("192.0.2.2", 1)], [10, 20, 1]);
	now = 600;
	assert.equal(ask("ada", 30), 10);
	now = 999;
	assert.equal(ask("ada", 30), 0);
	now = 1000;
	assert.equal(ask("ada", 30), 10);
	now = 1600;
	assert.deepEqual([ask("ada", 30), ask("192.0.2.1", 30)], [10, 20]);
	assert.deepEqual(throttle.seen(), { most: 20, refused: 10 + 20 + 30 + 20 + 20 + 10 });
});

test("addresses of one line are one source", () => {
	const throttle = createLowDiskThrottle(low, () => 0);
	for (let host = 1; host <= 20; host++)
		assert.equal(throttle.refuse(anEvent({ cause: [`2001:db8:0:1::${host}`] })), undefined);
	assert.ok(throttle.refuse(anEvent({ cause: ["2001:db8:0:1:ffff::1"] })));
	assert.equal(throttle.refuse(anEvent({ cause: ["2001:db8:0:2::1"] })), undefined);
});

test("what causes many events at once is done, and takes the seconds that follow", () => {
	let now = 0;
	const throttle = createLowDiskThrottle(low, () => now);
	assert.equal(throttle.refuse(anEvent({ cause: ["ada"] }), 50), undefined);
	const isRefused = () => throttle.refuse(anEvent({ cause: ["ada"] })) !== undefined;
	assert.equal(isRefused(), true);
	now = 1999;
	assert.equal(isRefused(), true);
	now = 2000;
	assert.equal(isRefused(), false);
});

test("while the disk is low a machine causes half of its owner's events, one at a time or many at once", () => {
	let now = 0;
	const throttle = createLowDiskThrottle(low, () => now);
	const ask = (...cause: [string, ...string[]]) =>
		Array.from({ length: 30 }, () => throttle.refuse(anEvent({ cause }))).filter((refusal) => refusal === undefined)
			.length;
	assert.equal(ask("ada", "shop", "bot"), 10);
	assert.equal(throttle.seen().most, 20, "the limit is shown as reached");
	assert.deepEqual([ask("ada", "shop", "other"), ask("ada", "ada")], [5, 5]);
	now = 1000;
	assert.equal(throttle.refuse(anEvent({ cause: ["ada", "shop", "bot"] }), 50), undefined);
	for (; now < 6000; now += 1000) assert.deepEqual([ask("ada", "shop", "bot"), ask("ada", "ada")], [0, 10]);
	assert.equal(ask("ada", "shop", "bot"), 10);
});

test("a lease that begins counts with the event of its credential, and what confirms or ends one is never refused", async () => {
	const done: string[] = [];
	const operation = (_noun: string, verb: string) => async () => void done.push(verb);
	const writer = throttleWrites(
		{ append: async () => undefined, operation },
		createLowDiskThrottle(low, () => 0),
	);
	const run = (verb: string) => writer.operation("leases", verb)({}, anEvent({ cause: ["ada"] }));
	for (let count = 0; count < 10; count++) await run("begin");
	await assert.rejects(run("begin"), /15 %/);
	for (const verb of ["activate", "settle"]) await run(verb);
	assert.deepEqual(done, [...Array(10).fill("begin"), "activate", "settle"]);
});

async function open(t: TestContext, statfs: () => FileSystem) {
	// The store closes before its folder goes: else the log's thread would not find the database.
	const ends = new AsyncDisposableStack();
	t.after(() => ends.disposeAsync());
	const directory = await makeFolder({ after: (clean) => void ends.defer(clean) });
	const store = await openSqliteStore({ directory, now: new Date(MADE_AT), statfs, onFailure: assert.fail });
	ends.defer(() => store.close());
	await store.guard([ROW_KEY]);
	return store;
}

test("below 15 % of free disk the store refuses the 21st event of an account in a second, and nothing of others or of itself", async (t) => {
	const store = await open(t, () => disk(153));
	const realm = await addRealm(store, await addAccount(store));
	const attempts = Array.from({ length: 30 }, (_, index) =>
		index % 2 === 0
			? store.audit.append(anEvent({ cause: ["ada"] }))
			: store.secrets.set(aVersion(realm.id, `k${index}`), anEvent({ cause: ["ada"] })),
	);
	const refused = (await Promise.allSettled(attempts)).filter((outcome) => outcome.status === "rejected");
	assert.equal(refused.length, 10);
	for (const { reason } of refused) {
		assert.ok(reason instanceof AppError);
		assert.deepEqual([reason.code, reason.headers], ["rate_limited", { "retry-after": "1" }]);
		assert.match(reason.message, /\(low_disk_events_per_second\)/);
	}
	await store.audit.append(anEvent({ cause: ["bob"] }));
	for (let count = 0; count < 30; count++) await store.audit.append(anEvent());
	assert.equal(store.eventsOnLowDisk().refused, 10);
});

test("with 15 % free nobody is refused", async (t) => {
	const store = await open(t, () => disk(154));
	await Promise.all(Array.from({ length: 100 }, () => store.audit.append(anEvent({ cause: ["ada"] }))));
});

test("the store says that it has no room before a write fails, and that it has when there is", async (t) => {
	let free = 600;
	const small = { bsize: 4096, blocks: 2560 };
	let system = (): FileSystem => disk(free);
	const store = await open(t, () => system());
	const pass = passTime(t);
	const isWritable = () => {
		pass(1000);
		return store.isWritable(new Date(MADE_AT));
	};
	assert.equal(await isWritable(), true);
	free = 51;
	assert.equal(await isWritable(), false);
	await store.audit.append(anEvent());
	free = 52;
	assert.equal(await isWritable(), true);
	system = () => ({ ...small, bfree: 127, bavail: 127 });
	assert.equal(await isWritable(), false, "of a disk of 10 MiB half of one has to be free");
	system = () => ({ ...small, bfree: 128, bavail: 128 });
	assert.equal(await isWritable(), true);
	system = () => assert.fail("it cannot be looked at");
	assert.equal(await isWritable(), true);
});
