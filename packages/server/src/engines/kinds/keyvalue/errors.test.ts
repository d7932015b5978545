import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../../../../../../test/peers/free-port.ts";
import { startProxy } from "../../../../../../test/peers/proxy.ts";
import { skipWithoutRedis } from "../../../../../../test/peers/redis.ts";
import { NAME, PASSWORD, refusedAs, subject } from "../testing.ts";
import { clientsBecome, connect, create, kvSet, redisFor } from "./testing.ts";

const redisTest = { skip: skipWithoutRedis };

test("a wrong password and a missing right are denials", redisTest, async (t) => {
	const redis = await redisFor(t);
	const wrong = connect(t, redis, { password: "wrong-password" });
	await assert.rejects(wrong.ping(), refusedAs("denied", /: WRONGPASS/));
	await redis.admin("ACL", "SETUSER", "weak", "on", ">weak-password", "+ping");
	const weak = connect(t, redis, { username: "weak", password: "weak-password" });
	await weak.ping();
	await assert.rejects(weak.exists(subject()), refusedAs("denied", /NOPERM/));
	await assert.rejects(create(weak, kvSet()), refusedAs("denied", /NOPERM/));
	assert.deepEqual(await redis.users(), ["weak"]);
});

test(
	"a rule that Redis does not know is a refusal, which leaves nothing behind and quotes no password",
	redisTest,
	async (t) => {
		const redis = await redisFor(t);
		const connector = connect(t, redis);
		const unknown = create(connector, kvSet(NAME, ["~*", "+nosuch"]));
		await assert.rejects(unknown, refusedAs("rejected", /Error in ACL SETUSER modifier '\+nosuch'/));
		for (const secret of [PASSWORD, redis.password]) {
			const quoting = create(connector, kvSet(NAME, [`+${secret}`]));
			await assert.rejects(quoting, refusedAs("rejected", /modifier '\+\*+'/));
		}
		assert.equal(await connector.exists(subject()), false);
	},
);

test("a database that the store does not have is a refusal", redisTest, async (t) => {
	const connector = connect(t, await redisFor(t), { database: 99 });
	await assert.rejects(connector.ping(), refusedAs("rejected", /DB index is out of range/));
});

test("a store that is not there is unreachable, and no message has its address", async (t) => {
	const connector = connect(t, { address: `127.0.0.1:${await freePort()}`, password: "secret" });
	const unreachable = refusedAs("unreachable", /\(ECONNREFUSED\)$/);
	await assert.rejects(connector.ping(), unreachable);
	await assert.rejects(connector.connections.openChannel(), unreachable);
});

test("a store that falls silent is abandoned, and works again when it wakes", {
	...redisTest,
	timeout: 300_000,
}, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	const channel = await connector.connections.openChannel();
	redis.pause();
	const timeout = refusedAs("unreachable", /\(ETIMEDOUT\)/);
	await Promise.all([
		assert.rejects(channel.create(kvSet()), timeout, "a command that is not answered"),
		assert.rejects(connector.ping(), timeout, "a connection that is accepted, and no more"),
	]);
	channel.release();
	redis.resume();
	await connector.ping();
});

test("a restart in between is not noticed", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	await create(connector, kvSet());
	await redis.restart();
	assert.equal(await connector.exists(subject()), false, "without an aclfile the users are gone");
	await create(connector, kvSet());
	assert.deepEqual(await connector.list(), [NAME]);
});

test("many who ask at once after a restart share one connection", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	await connector.ping();
	await redis.restart();
	await Promise.all(Array.from({ length: 20 }, () => connector.ping()));
	await clientsBecome(redis, 1);
});

test("a connection that breaks costs the command that was under way", redisTest, async (t) => {
	const redis = await redisFor(t);
	const proxy = await startProxy(redis.port);
	t.after(proxy.stop);
	const connector = connect(t, { address: proxy.address, password: redis.password });
	await connector.ping();
	proxy.blackhole();
	const lost = assert.rejects(connector.ping(), refusedAs("unreachable", /ECONNRESET|connection lost/));
	proxy.reset();
	await lost;
	proxy.restore();
	await connector.ping();
});

test("a server that answers but is not a key-value store is unreachable", redisTest, async (t) => {
	const redis = await redisFor(t, { tls: true });
	await assert.rejects(connect(t, redis).ping(), refusedAs("unreachable", /./));
});

test("once closed, nothing stays connected and nothing is connected any more", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	const channel = await connector.connections.openChannel();
	await connector.ping();
	const opening = connector.connections.openChannel();
	await connector.close();
	await assert.rejects(opening, refusedAs("unreachable", /./));
	channel.release();
	const closed = refusedAs("unreachable", /was closed/);
	await assert.rejects(connector.ping(), closed);
	await assert.rejects(connector.connections.openChannel(), closed);
	await clientsBecome(redis, 0);
});
