import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import { startProxy, type TcpProxy } from "../../../../../../test/peers/proxy.ts";
import { type Redis, skipWithoutRedis } from "../../../../../../test/peers/redis.ts";

import { refusedAs, subject } from "../testing.ts";
import type { KeyValueConnector } from "./connector.ts";
import { clientsBecome, connect, create, kvSet, redisFor } from "./testing.ts";

/** A create that nobody answers takes 5 s. */
const redisTest = { skip: skipWithoutRedis, timeout: 300_000 };

async function proxyFor(t: TestContext, redis: Redis): Promise<TcpProxy> {
	const proxy = await startProxy(redis.port);
	t.after(proxy.stop);
	return proxy;
}

/** Sends a create that the proxy holds until it times out. @returns its fence, and the function that releases it to the store */
async function heldCreate(
	connector: KeyValueConnector,
	proxy: TcpProxy,
): Promise<{ fence: string; release: () => Promise<void> }> {
	const channel = await connector.connections.openChannel();
	const held = proxy.hold("SETUSER");
	await assert.rejects(channel.create(kvSet()), refusedAs("unreachable", /ETIMEDOUT/));
	await held.caught;
	channel.release();
	return { fence: channel.fence, release: held.release };
}

suite("a create whose answer is abandoned after 5 s", { concurrency: true }, () => {
	test("a late create lands behind a delete that saw nothing: this is what fences are for", redisTest, async (t) => {
		const redis = await redisFor(t);
		const proxy = await proxyFor(t, redis);
		const connector = connect(t, { address: proxy.address, password: redis.password });
		const { release } = await heldCreate(connector, proxy);
		await connector.remove(subject());
		assert.equal(await connector.exists(subject()), false);
		await release();
		assert.equal(await connector.exists(subject()), true);
	});

	test("a late create never lands once its fence is up, even for another connector", redisTest, async (t) => {
		const redis = await redisFor(t);
		const proxy = await proxyFor(t, redis);
		const { fence, release } = await heldCreate(
			connect(t, { address: proxy.address, password: redis.password }),
			proxy,
		);
		const afterRestart = connect(t, redis);
		assert.equal(await afterRestart.fence(fence), true);
		await release();
		assert.equal(await afterRestart.exists(subject()), false);
		assert.equal(await afterRestart.fence(fence), true, "it can be asked for again");
	});
});

test(
	"an admin that may not kill connections gives no proof, and one that may not ask for their number gives no fence",
	redisTest,
	async (t) => {
		const redis = await redisFor(t);
		const rights = { limited: ["+@all", "-client|kill"], blind: ["+@all", "-client|id"], mute: ["+@all", "-info"] };
		const fences: string[] = [];
		for (const [username, rules] of Object.entries(rights)) {
			await redis.admin("ACL", "SETUSER", username, "on", ">limited-password", ...rules);
			const connector = connect(t, redis, { username, password: "limited-password" });
			const channel = await connector.connections.openChannel();
			fences.push(channel.fence);
			await channel.create(kvSet());
			assert.equal(await connector.fence(channel.fence), false, username);
			channel.release();
		}
		assert.match(fences.join(), /^[0-9a-f]{40} \d+,,$/);
	},
);

test("nothing can be under way to a process that has ended", redisTest, async (t) => {
	const redis = await redisFor(t);
	await redis.admin("ACL", "SETUSER", "default", "-client|kill");
	const connector = connect(t, redis);
	const channel = await connector.connections.openChannel();
	channel.release();
	assert.equal(await connector.fence(channel.fence), false);
	await redis.restart();
	assert.equal(await connector.fence(channel.fence), true);
});

test("a store that is away proves nothing, and neither does a text that is no fence", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	const channel = await connector.connections.openChannel();
	channel.release();
	for (const text of ["", "1", `${channel.fence} SKIPME`, channel.fence.toUpperCase(), `${channel.fence}\n`]) {
		assert.equal(await connector.fence(text), false);
	}
	await redis.kill();
	await assert.rejects(connector.fence(channel.fence), refusedAs("unreachable", /./));
});

test("a connection carries one create after the other, as long as they end well", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	const first = await connector.connections.openChannel();
	await first.create(kvSet());
	first.release();
	const second = await connector.connections.openChannel();
	assert.equal(second.fence, first.fence);
	await assert.rejects(second.create(kvSet("svc_00000002", ["+nosuch"])), refusedAs("rejected", /./));
	await assert.rejects(second.create(kvSet("svc_00000002")), TypeError);
	second.release();
	second.release();
	const third = await connector.connections.openChannel();
	assert.notEqual(third.fence, second.fence);
	third.release();
	await assert.rejects(third.create(kvSet("svc_00000003")), TypeError);
	assert.deepEqual(await redis.users(), [subject().name]);
});

test("a connection that ended while it was kept is not used", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	await create(connector, kvSet());
	await redis.restart();
	await create(connector, kvSet());
	assert.equal(await connector.exists(subject()), true);
});

test("creates at once have connections of their own, and no more than sixteen", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	const names = Array.from({ length: 40 }, (_, index) => `svc_${index.toString(16).padStart(8, "0")}`);
	const channels = await Promise.all(Array.from({ length: 16 }, () => connector.connections.openChannel()));
	assert.equal(new Set(channels.map(({ fence }) => fence)).size, 16);
	const creates = names.map((name) => create(connector, kvSet(name)));
	for (const channel of channels) channel.release();
	await Promise.all(creates);
	assert.deepEqual(new Set(await redis.users()), new Set(names));
	await clientsBecome(redis, 16);
});
