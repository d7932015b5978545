import assert from "node:assert/strict";
import { test } from "node:test";
import { type Redis, skipWithoutRedis } from "../../../../../../test/peers/redis.ts";
import { NAME } from "../testing.ts";
import { connect, create, kvSet, redisFor } from "./testing.ts";

const redisTest = { skip: skipWithoutRedis };

/** Spec: ENGINES › Key-value store engine configuration */
const LISTS = {
	readonly: "get mget hget hgetall lrange smembers sismember zrange ttl type exists keys scan info",
	readwrite: `get set del mget mset hget hset hdel hgetall lpush rpush lpop rpop lrange sadd srem smembers zadd zrem zrange expire
		ttl type exists keys scan info`,
};

/** Commands open to clients that are not logged in. */
const UNGUARDED = ["auth", "hello", "quit", "reset"];

for (const [role, list] of Object.entries(LISTS)) {
	test(`${role} may run the commands of its list on any key, and no other of all there are`, redisTest, async (t) => {
		const redis = await redisFor(t);
		const allowed = list.split(/\s+/);
		await create(connect(t, redis), kvSet(NAME, ["~*", ...allowed.map((name) => `+${name}`)]));
		const commands = await everyCommand(redis);
		assert.ok(commands.length > 200, "Redis has more than that");
		assert.deepEqual(new Set(await mayRun(redis, commands)), new Set([...allowed, ...UNGUARDED]));
	});
}

test("admin may run every command there is", redisTest, async (t) => {
	const redis = await redisFor(t);
	await create(connect(t, redis), kvSet(NAME, ["~*", "+@all"]));
	const commands = await everyCommand(redis);
	assert.equal((await mayRun(redis, commands)).length, commands.length);
});

/** An entry of COMMAND. The tenth field has the subcommands. */
type Entry = [name: string, arity: number, ...rest: unknown[]];

/** Lists every command of this Redis with its subcommand and its minimum of arguments. */
async function everyCommand(redis: Redis): Promise<string[][]> {
	const withSubcommands = (entries: Entry[]): Entry[] =>
		entries.flatMap((entry) => {
			const inner = (entry[9] ?? []) as Entry[];
			return inner.length === 0 ? [entry] : withSubcommands(inner);
		});
	return withSubcommands((await redis.admin("COMMAND")) as Entry[]).map(([name, arity]) => {
		const words = name.split("|");
		while (words.length < Math.abs(arity)) words.push("1");
		return words;
	});
}

/** Lists the names of commands that the user may run, as judged by Redis without running them. */
async function mayRun(redis: Redis, commands: string[][]): Promise<string[]> {
	const session = await redis.login("default", redis.password);
	const verdicts = await Promise.all(commands.map((command) => session.send("ACL", "DRYRUN", NAME, ...command)));
	session.end();
	// A forbidden key or channel does not mean a forbidden command.
	const isAllowed = verdicts.map((verdict) => verdict === "OK" || /permissions to access/.test(String(verdict)));
	return commands.filter((_, index) => isAllowed[index]).map(([name = ""]) => name);
}
