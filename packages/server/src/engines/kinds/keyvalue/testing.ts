/* Shared by the tests of this kind. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Fields } from "@svc/protocol";
import { type Redis, type RedisOptions, startRedis } from "../../../../../../test/peers/redis.ts";
import { NAME, needsOf, PASSWORD } from "../testing.ts";
import type { KvSet } from "./connection.ts";
import { createKeyValueConnector, type KeyValueConnector } from "./connector.ts";

/** Makes a command that creates a user of a key-value store. */
export function kvSet(username = NAME, rules = ["~*", "+get"]): KvSet {
	const args = ["ACL", "SETUSER", username, "on", `>${PASSWORD}`, ...rules];
	return { username, password: PASSWORD, arguments: args };
}

/** Starts a Redis that ends with the test. */
export async function redisFor(t: TestContext, options: RedisOptions = {}): Promise<Redis> {
	const redis = await startRedis(options);
	t.after(redis.stop);
	return redis;
}

/** Makes a connector to it, or to a proxy in front of it, that ends with the test. */
export function connect(
	t: TestContext,
	redis: Pick<Redis, "address" | "password">,
	fields: Fields = {},
): KeyValueConnector {
	const connector = createKeyValueConnector(needsOf({ address: redis.address, password: redis.password, ...fields }));
	t.after(() => connector.close());
	return connector;
}

/** Creates a user on a channel of its own. */
export async function create(connector: KeyValueConnector, command: KvSet): Promise<void> {
	const channel = await connector.connections.openChannel();
	await channel.create(command).finally(channel.release);
}

/** Waits at most 5 s until this many connections are open, not counting the one that asks. */
export async function clientsBecome(redis: Redis, count: number): Promise<void> {
	const open = async () =>
		String(await redis.admin("CLIENT", "LIST"))
			.trim()
			.split("\n").length - 1;
	const end = performance.now() + 5000;
	while ((await open()) !== count && performance.now() < end) await setTimeout(10);
	assert.equal(await open(), count);
}
