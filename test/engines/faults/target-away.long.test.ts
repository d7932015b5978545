import assert from "node:assert/strict";
import { test } from "node:test";
import { stays } from "../../../packages/server/src/testing/stays.ts";
import { eventually } from "../../harness/engine-world.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world } = useKeyValueWorld("plain");

/** Makes this many credentials at once; returns their names. */
async function makeMany(count: number, ttl: string): Promise<string[]> {
	const made = await Promise.all(Array.from({ length: count }, () => world.made({ ttl })));
	return made.map(({ username }) => username);
}

/** Returns the seconds from each credential's end to the start of its revocation. */
async function lateness(names: readonly string[]): Promise<number[]> {
	const leases = await world.leases();
	const stories = await Promise.all(names.map((name) => world.history(name)));
	return stories.map((story, at) => {
		const begun = story.find(({ type }) => type === "lease.revoking");
		assert.equal(begun?.data.reason, "expired");
		const end = leases.find(({ name }) => name === names[at])?.expires_at;
		return (Date.parse(begun.timestamp) - Date.parse(end ?? "")) / 1000;
	});
}

test("leases that end together are revoked together", options, async (t) => {
	const names = await makeMany(40, "2s");
	await eventually("all are gone", async () => (await world.redis.users()).length === 0);
	await eventually("all are closed", async () => (await world.leases("revoked")).length === 40);
	const late = (await lateness(names)).sort((a, b) => a - b);
	const lag = "svc_lease_revocation_lag_seconds";
	const [within, all] = [await world.metric(`${lag}_bucket{le="2"}`), await world.metric(`${lag}_count`)];
	t.diagnostic(`revoking began ${late[0]} to ${late.at(-1)} s after the end; ${within} of ${all} were gone within 2 s`);
	assert.equal(all, 40);
	assert.ok((late.at(-1) ?? 0) < 10, "revoking begins soon");
});

test("a target that is away is asked now and then; all are revoked when it returns", options, async (t) => {
	// Lives longer than a slow machine needs to make them.
	const names = await makeMany(40, "15s");
	world.proxy.refuse();
	const before = world.proxy.accepted();
	const isAway = async () => (await world.details()).targets.some(({ status }) => status === "away");
	await eventually("it is away", isAway);
	await eventually("the oldest is 5 s late", async () => (await world.details()).leases.oldest_overdue_seconds >= 5);
	const { targets, leases } = await world.details();
	assert.deepEqual(
		targets.map(({ status }) => status),
		["away"],
	);
	assert.equal(leases.overdue, 0, "nothing is late by a minute");
	assert.equal(await world.metric('svc_targets{state="away"}'), 1);
	assert.ok((await world.metric("svc_lease_oldest_overdue_seconds")) >= 3);
	const open = (await world.leases()).filter(({ name }) => names.includes(name));
	assert.ok(open.every(({ state }) => state === "active" || state === "revoking"));
	const attempts = open.reduce((sum, lease) => sum + lease.attempts, 0);
	const asked = world.proxy.accepted() - before;
	t.diagnostic(`${attempts} attempts for 40 leases, ${asked} connections`);
	assert.ok(attempts <= 20, "no more attempts than the target's width and the failures that it takes");
	assert.ok(asked <= 30, "no storm at the target");
	assert.equal((await world.redis.users()).length, 40);
	world.proxy.restore();
	const returned = performance.now();
	await eventually("all are gone", async () => (await world.redis.users()).length === 0);
	t.diagnostic(`everything was gone ${Math.round(performance.now() - returned)} ms after the return`);
	await eventually("all are closed", async () => (await world.leases("revoked")).length >= 80);
	await eventually("nothing is late", async () => (await world.details()).leases.oldest_overdue_seconds === 0);
	assert.equal(await world.openLeases(), 0);
});

test("one that accepts connections and never answers is no different", options, async () => {
	const { lease, username, expires_at } = await world.made({ ttl: "4s" });
	world.redis.pause();
	const isOpen = async () => (await world.lease(lease.id)).state !== "revoked";
	await stays("it is not closed", isOpen, Date.parse(expires_at) + 2000 - Date.now());
	world.redis.resume();
	await world.until(lease.id, "revoked");
	assert.equal(await world.isThere(username), false);
});

test(
	"a revocation that is requested while the target is away is answered, and done when the target returns",
	options,
	async () => {
		const { lease, username } = await world.made();
		await world.redis.kill();
		assert.equal(await world.revoke(lease.id), 202);
		assert.equal((await world.lease(lease.id)).state, "revoking");
		await world.redis.start();
		await world.until(lease.id, "revoked");
		assert.equal(await world.isThere(username), false);
	},
);
