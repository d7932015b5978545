import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { bind, person } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

let world: EngineWorld;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis({ aclfile: true });
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

/** A row of a lease that is not revoked yet. */
const STUCK = /data-label="Tries"/;

async function read(who: { cookie: string }): Promise<string> {
	const { status, text } = await ask(world.server, "GET", `/console/realms/${world.slug}/leases`, who);
	assert.equal(status, 200);
	return text;
}

test("the Leases page shows live and unrevocable leases, and ends one", {
	skip: skipWithoutRedis,
}, async () => {
	const generate = async () => {
		const answer = await world.generate<{ username: string }>("keyvalue", { role: "readonly", ttl: "90m" });
		return { id: String(answer.headers["x-lease-id"]), name: ok(answer).username };
	};
	const [first, second] = [await generate(), await generate()];
	const owner = await enter(world.server, world.admin);
	const live = await read(owner);
	for (const { id, name } of [first, second])
		assert.match(live, new RegExp(`${name}</th>.*data-label="Left">1 h (?:29|30) min<.*name="id" value="${id}"`));
	assert.match(live, /<svg [^>]*role="img" aria-label="[^"]*\b2\..*<rect /);
	const health = await ask(world.server, "GET", "/console/health", owner);
	assert.match(health.text, /data-label="Live leases">2</);
	assert.doesNotMatch(live, STUCK);

	const path = `/console/realms/${world.slug}/leases`;
	const viewer = await person(world.client, "viewer");
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const his = await enter(world.server, viewer);
	assert.doesNotMatch(await read(his), /name="id"/);
	const post = async (who: { cookie: string }, id: string) => {
		const form_token = await tokenOf(world.server, who);
		return (await ask(world.server, "POST", path, { ...who, ...ours(world.server) }, { id, form_token })).status;
	};
	assert.equal(await post(his, first.id), 403);
	assert.ok((await redis.users()).includes(first.name));
	assert.equal(await post(owner, first.id), 303);
	const left = await read(owner);
	assert.doesNotMatch(left, new RegExp(first.name));
	assert.equal((await redis.users()).includes(first.name), false);

	await redis.kill();
	assert.equal(await post(owner, second.id), 303);
	const stuck = await read(owner);
	assert.match(stuck, /class="notice">\S/);
	const line = new RegExp(
		`${second.name}</th>.*?data-label="Must go">[^<]+<.*?class="bad">[^<]+<.*?data-label="Tries">[1-9].*?</tr>`,
	);
	const [shown = ""] = line.exec(stuck) ?? [];
	assert.match(shown, /data-label="Next try">(?:now|in \d+ s|[^<]+<time)/);
	assert.match(shown, new RegExp(`name="id" value="${second.id}".*href="/console/leases/${second.id}/abandon"`));
	assert.doesNotMatch(await read(his), /name="id"|\/abandon"/);

	await abandonsOne(owner, his, second);
});

/** Abandons a lease that cannot be revoked, on the page of all realms. */
async function abandonsOne(
	owner: { cookie: string },
	his: { cookie: string },
	stuck: { id: string; name: string },
): Promise<void> {
	const all = async (who: { cookie: string }, path = "") => ask(world.server, "GET", `/console/leases${path}`, who);
	assert.match(
		(await all(owner)).text,
		new RegExp(`${stuck.name}</th><td data-label="Realm" class="whole">${world.slug}<`),
	);
	assert.equal((await all(his)).status, 403);
	const page = `/${stuck.id}/abandon`;
	assert.match((await all(owner, page)).text, new RegExp(`<code>${stuck.name}</code>.*name="reason"`, "s"));
	assert.equal((await all(his, page)).status, 403);
	const abandon = async (who: { cookie: string }, reason: string) => {
		const form = { reason, form_token: await tokenOf(world.server, who) };
		return (await ask(world.server, "POST", `/console/leases${page}`, { ...who, ...ours(world.server) }, form)).status;
	};
	assert.equal(await abandon(his, "gone"), 403);
	assert.equal(await abandon(owner, ""), 400);
	assert.equal(await abandon(owner, "the machine is gone"), 303);
	assert.doesNotMatch((await all(owner)).text, STUCK);
	assert.deepEqual(
		(await world.leases("abandoned")).map(({ id }) => id),
		[stuck.id],
	);
}
