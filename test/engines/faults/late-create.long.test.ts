import assert from "node:assert/strict";
import { request } from "node:https";
import { test } from "node:test";
import { eventually, type Lease } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world, steering } = useKeyValueWorld("steered");

/** Asks for a credential whose create is held on its way; returns its lease, and the function that releases the create. */
async function makeLate(): Promise<{ lease: Lease; release: () => Promise<void> }> {
	const held = world.proxy.hold("SETUSER");
	refused(await world.make(), 503, "engine_unavailable");
	await held.caught;
	const [lease] = await world.leases();
	assert.ok(lease);
	return { lease, release: held.release };
}

/** Returns the types of the lease's events in the log. */
async function storyOf({ name }: Lease): Promise<string[]> {
	return (await world.history(name)).map(({ type }) => type);
}

test(
	"a create that comes after its clean-up has no effect, and its credential was never there for anybody",
	options,
	async () => {
		const { lease, release } = await makeLate();
		await world.until(lease.id, "aborted");
		await release();
		assert.equal(await world.isThere(lease.name), false);
		assert.equal((await world.lease(lease.id)).state, "aborted");
		assert.deepEqual(await storyOf(lease), ["engine.generate", "lease.aborted"]);
	},
);

test("one that comes before its clean-up is undone", options, async () => {
	const held = world.proxy.hold("SETUSER");
	const answer = world.make();
	await held.caught;
	world.proxy.blackhole();
	await held.release();
	await eventually("the create has landed", async () => (await world.redis.users()).length === 1);
	refused(await answer, 503, "engine_unavailable");
	world.proxy.restore();
	const [lease] = await world.leases();
	assert.ok(lease);
	await world.until(lease.id, "aborted");
	assert.equal(await world.isThere(lease.name), false);
	assert.deepEqual(await storyOf(lease), ["engine.generate", "lease.aborted"]);
});

/** Seconds between the looks at a credential whose create may still land. Design: §9 */
const PAUSES = [5, 25, 90, 480, 600];

test(
	"without the right to end the connection of a create its name is looked at for twenty minutes",
	options,
	async () => {
		await world.redis.admin("ACL", "SETUSER", "limited", "on", ">limited", "~*", "&*", "+@all", "-client|kill");
		await world.set({ username: "limited", password: "limited" });
		const { lease, release } = await makeLate();
		await eventually("it was looked at", async () => (await world.lease(lease.id)).attempts === 1);
		assert.equal(await world.isThere(lease.name), false);
		await release();
		assert.equal(await world.isThere(lease.name), true, "nothing kept the create from landing");
		for (const [at, pause] of PAUSES.entries()) {
			const { state, attempts } = await world.lease(lease.id);
			assert.deepEqual([state, attempts], ["uncertain", at + 1]);
			await steering.pass(pause + 1);
			await eventually(
				"it was looked at again",
				async () => (await world.lease(lease.id)).attempts > attempts || at === 4,
			);
			if (at < 4) assert.equal(await world.isThere(lease.name), false);
		}
		await world.until(lease.id, "aborted");
		assert.deepEqual(await storyOf(lease), ["engine.generate", "lease.aborted"]);
		await world.set();
	},
);

test("a credential whose asker has gone is revoked", options, async (t) => {
	const held = world.proxy.hold("SETUSER");
	const { url, ca } = world.server;
	const path = `/api/v1/realms/${world.slug}/engines/keyvalue/generate`;
	const headers = { authorization: `Bearer ${world.admin.token}`, "content-type": "application/json" };
	const asking = request(new URL(path, url), { method: "POST", ca, headers });
	asking.on("error", () => undefined).end("{}");
	await held.caught;
	asking.destroy();
	await held.release();
	const began = performance.now();
	const [lease] = await world.leases();
	assert.ok(lease);
	await world.until(lease.id, "revoked");
	t.diagnostic(`revoked ${Math.round(performance.now() - began)} ms after it was made`);
	assert.equal(await world.isThere(lease.name), false);
	const story = await world.history(lease.name);
	assert.deepEqual(
		story.map(({ type, data }) => [type, data.reason]),
		[
			["engine.generate", undefined],
			["lease.created", undefined],
			["lease.revoking", "undelivered"],
			["lease.revoked", "undelivered"],
		],
	);
	ok(await world.make());
});
