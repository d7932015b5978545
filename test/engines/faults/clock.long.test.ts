import assert from "node:assert/strict";
import { test } from "node:test";
import { stays } from "../../../packages/server/src/testing/stays.ts";
import { eventually } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { login } from "../../harness/fixtures.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Longest life of a four-second credential, whose clock is saved every ten seconds; the rest is for a slow machine. */
const LONGEST_MS = 14_000 + 5000;

const { options, world, steering } = useKeyValueWorld("steered");

/** Waits until all of them are gone; returns the milliseconds that they lived. */
async function lifeOf(names: readonly string[], since: number): Promise<number> {
	const anyLeft = async () => (await world.redis.users()).some((name) => names.includes(name));
	await eventually("they are gone", async () => !(await anyLeft()), 30);
	return performance.now() - since;
}

test("a clock that is set back by a day prolongs no credential, made before or after", options, async (t) => {
	const since = performance.now();
	const early = await world.made({ ttl: "4s" });
	await steering.order({ wall_ms: -DAY_MS });
	const late = await world.made({ ttl: "4s" });
	assert.ok(Date.parse(late.expires_at) < Date.now() - DAY_MS / 2, "the server has the clock that was set");
	const lived = await lifeOf([early.username, late.username], since);
	t.diagnostic(`credentials of 4 s lived for ${Math.round(lived)} ms`);
	assert.ok(lived >= 3500 && lived < LONGEST_MS);
	assert.equal((await world.details()).clock, "steady");
	await steering.order({ wall_ms: 0 });
});

test("nor does one that is set back while the server is down", options, async (t) => {
	const since = performance.now();
	const { username } = await world.made({ ttl: "4s" });
	await world.server.stop();
	await steering.order({ wall_ms: -DAY_MS });
	await world.server.restart();
	const lived = await lifeOf([username], since);
	t.diagnostic(`a credential of 4 s lived for ${Math.round(lived)} ms`);
	assert.ok(lived < LONGEST_MS);
	await world.server.stop();
	await steering.order({ wall_ms: 0 });
	await world.server.restart();
	assert.equal((await world.details()).clock, "steady", "what was set back and forth is no jump");
});

test("what a machine slept through is over when it wakes, without alarm", options, async () => {
	const { username, lease } = await world.made({ ttl: "1h" });
	const kept = await world.made({ ttl: "3h" });
	await steering.pass(2 * 60 * 60);
	await world.until(lease.id, "revoked");
	assert.equal(await world.isThere(username), false);
	assert.equal((await world.lease(kept.lease.id)).state, "active");
	assert.equal((await world.details()).clock, "steady");
	assert.equal(await world.revoke(kept.lease.id), 200);
});

/** Returns events as the admin sees them with a new session: the first session of the test has ended with the year. */
async function eventsNow(type: string) {
	const token = await login(world.client, world.admin);
	return events(world.client, { token }, `type=${type}`);
}

test("a jump of a year is reported, waits for a minute, and ends credentials slowly", options, async () => {
	const asked = await world.made({ ttl: "12h" });
	await Promise.all(Array.from({ length: 260 }, () => world.make({ ttl: "12h" })));
	const { wall_ms } = steering.orders();
	await steering.order({ wall_ms: wall_ms + 365 * DAY_MS });
	await eventually("it is noticed", async () => (await world.details()).clock === "jumped");
	await eventually("it is reported", async () => (await eventsNow("clock.jump")).length === 1);
	await stays("nothing is ended by it at first", async () => (await world.redis.users()).length === 261, 3000);
	const token = await login(world.client, world.admin);
	const path = `/realms/${world.slug}/leases/${asked.lease.id}`;
	assert.equal((await world.client.delete(path, { token })).status, 200, "who asks does not wait");
	const short = world.client.post<{ username: string }>(
		`/realms/${world.slug}/engines/keyvalue/generate`,
		{ ttl: "1s" },
		{ token },
	);
	const { username } = (await short).body;
	await eventually("a new one ends in time", async () => !(await world.isThere(username)));
	assert.equal((await world.redis.users()).length, 260);
	const left = async (count: number) => (await world.redis.users()).length === count;
	await steering.order({ stopped_at: Date.now() });
	await steering.pass(60);
	for (const count of [160, 60, 0]) {
		await eventually(`${count} are left`, () => left(count));
		await stays("a hundred in each second", () => left(count), 1500);
		await steering.pass(1);
	}
});
