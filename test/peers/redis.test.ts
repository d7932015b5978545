import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type Redis, type RedisOptions, skipWithoutRedis, startRedis } from "./redis.ts";

const redisTest = { skip: skipWithoutRedis };

async function redisFor(t: TestContext, options?: RedisOptions): Promise<Redis> {
	const redis = await startRedis(options);
	t.after(redis.stop);
	return redis;
}

test("nobody gets in without the password", redisTest, async (t) => {
	const redis = await redisFor(t);
	assert.equal(await redis.admin("PING"), "PONG");
	await assert.rejects(redis.login("default", "wrong"), /WRONGPASS/);
});

test("it answers nothing while it is held, and everything afterwards", redisTest, async (t) => {
	const redis = await redisFor(t);
	const session = await redis.login("default", redis.password);
	redis.pause();
	const answer = session.send("PING");
	assert.equal(await Promise.race([answer, setTimeout(200, "silence")]), "silence");
	redis.resume();
	assert.equal(await answer, "PONG");
	session.end();
});

test("after a kill it starts on the same port, without what it did not keep", redisTest, async (t) => {
	const redis = await redisFor(t);
	await redis.admin("ACL", "SETUSER", "somebody", "on");
	const session = await redis.login("default", redis.password);
	await redis.kill();
	await session.ended;
	await assert.rejects(redis.admin("PING"), { code: "ECONNREFUSED" });
	await redis.start();
	assert.deepEqual(await redis.users(), []);
});

test("with an aclfile, users that were saved survive a restart", redisTest, async (t) => {
	const redis = await redisFor(t, { aclfile: true });
	await redis.admin("ACL", "SETUSER", "saved", "on");
	await redis.admin("ACL", "SAVE");
	await redis.admin("ACL", "SETUSER", "unsaved", "on");
	await redis.restart();
	assert.deepEqual(await redis.users(), ["saved"]);
});

test("it ends even when it is held, and leaves no folder", redisTest, async () => {
	const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("svc-redis-"));
	const before = new Set(await folders());
	const redis = await startRedis();
	const own = (await folders()).filter((name) => !before.has(name));
	redis.pause();
	await redis.stop();
	const left = new Set(await folders());
	assert.ok(own.length > 0);
	assert.ok(own.some((name) => !left.has(name)));
});

test("a Redis that cannot start says why", redisTest, async (t) => {
	const redis = await redisFor(t);
	await assert.rejects(startRedis({ port: redis.port }), /Address already in use/);
});
