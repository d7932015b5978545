/* Shared by the connectors' tests. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Fields } from "@svc/protocol";
import { type Redis, type RedisOptions, startRedis } from "../../../../../test/peers/redis.ts";
import { createTestSystem } from "../../testing/system.ts";
import { type Subject, TargetError } from "./connector.ts";
import type { DocCreate } from "./documentdb/command.ts";
import type { KvSet } from "./keyvalue/connection.ts";
import { createKeyValueConnector, type KeyValueConnector } from "./keyvalue/connector.ts";
import type { ConnectNeeds } from "./kind.ts";

/** A name and a password as engines make them. */
export const NAME = "svc_0a1b2c3d";
export const PASSWORD = "0123456789abcdef01234567";

export function subject(name = NAME, scope = ""): Subject {
	return { name, scope };
}

/** Makes a command that creates a user of a key-value store. */
export function kvSet(username = NAME, rules = ["~*", "+get"]): KvSet {
	const args = ["ACL", "SETUSER", username, "on", `>${PASSWORD}`, ...rules];
	return { username, password: PASSWORD, arguments: args };
}

/** Makes a command that creates a user of a document database. */
export function docCreate(username = NAME, role = "read", db = "app"): DocCreate {
	const document = { createUser: username, pwd: PASSWORD, roles: [{ role, db }], mechanisms: ["SCRAM-SHA-256"] };
	return { username, password: PASSWORD, document };
}

/** Makes the dependencies of a connector, without an engine's process. */
export function needsOf(fields: Fields): ConnectNeeds {
	return { fields, system: createTestSystem() } as unknown as ConnectNeeds;
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

/** Makes a check for assert.rejects. */
export function refusedAs(kind: TargetError["kind"], says: RegExp): (error: unknown) => boolean {
	return (error) => error instanceof TargetError && error.kind === kind && says.test(error.message);
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
