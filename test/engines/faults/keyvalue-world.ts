import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Answer } from "../../harness/client.ts";
import { type EngineWorld, eventually, type Lease, startEngineWorld } from "../../harness/engine-world.ts";
import { events, type ReadEvent } from "../../harness/events.ts";
import { ok } from "../../harness/expect.ts";
import { startProxy, type TcpProxy } from "../../peers/proxy.ts";
import { type Redis, type RedisOptions, skipWithoutRedis, startRedis } from "../../peers/redis.ts";
import { prepareSteering, type Steering } from "./steering.ts";

/** The key-value engine's result. */
export interface Credential {
	readonly username: string;
	readonly password: string;
	readonly expires_at: string;
}

/** A server whose key-value engine reaches a real Redis through a proxy. */
export interface KeyValueWorld extends EngineWorld {
	readonly redis: Redis;
	readonly proxy: TcpProxy;
	/** Configures the engine for all realms; without fields it connects through the proxy as the default user. */
	set(fields?: object): Promise<{ status: string; [field: string]: unknown }>;
	make(params?: object, where?: string): Promise<Answer<Credential>>;
	/** Makes a credential and returns it with its lease. */
	made(params?: object, where?: string): Promise<Credential & { readonly lease: Lease }>;
	isThere(username: string): Promise<boolean>;
	lease(id: string, where?: string): Promise<Lease>;
	/** Waits until a lease is in the state; returns it. */
	until(id: string, state: string): Promise<Lease>;
	/** Asks to revoke a lease; returns the status: 202 when its target is away. */
	revoke(id: string): Promise<number>;
	/** Returns the log's events about a credential, oldest first. */
	history(name: string): Promise<ReadEvent[]>;
	/** Returns the number of open leases in all realms, deleted ones included. */
	openLeases(): Promise<number>;
	/** Returns the value of a series, named as it is written; 0 when it does not exist. */
	metric(series: string): Promise<number>;
}

/** The fixtures for the tests of a file. */
interface Stage {
	/** Options of every test that needs the other fixtures. */
	readonly options: { readonly skip: string | false };
	readonly world: KeyValueWorld;
	/** Has no effect on a plain server. */
	readonly steering: Steering;
}

/**
 * Gives the tests of a file a world, which starts before them and ends after them.
 * @param kind a plain server is the program itself
 */
export function useKeyValueWorld(kind: "plain" | "steered", redis: RedisOptions = {}): Stage {
	const started: { world?: KeyValueWorld; steering?: Steering } = {};
	const ends = new AsyncDisposableStack();
	after(() => ends.disposeAsync());
	before(async () => {
		if (skipWithoutRedis !== false) return;
		const steering = await prepareSteering();
		ends.defer(steering.remove);
		const peer = await startRedis(redis);
		ends.defer(peer.stop);
		const proxy = await startProxy(peer.port);
		ends.defer(proxy.stop);
		const world = await startEngineWorld(kind === "plain" ? {} : steering.options);
		ends.defer(world.close);
		started.steering = steering;
		started.world = assemble(world, peer, proxy);
		assert.equal((await started.world.set()).status, "healthy");
	});
	const once = <Part extends object>(part: () => Part | undefined) =>
		new Proxy({} as Part, { get: (_, name) => Reflect.get(part() ?? assert.fail("it is not started"), name) });
	return {
		options: { skip: skipWithoutRedis },
		world: once(() => started.world),
		steering: once(() => started.steering),
	};
}

function assemble(world: EngineWorld, redis: Redis, proxy: TcpProxy): KeyValueWorld {
	const { client, admin, slug } = world;
	const { token } = admin;
	const make = (params: object = {}, where = slug) => world.generate<Credential>("keyvalue", params, where);
	const lease = async (id: string, where = slug) =>
		ok(await client.get<Lease>(`/realms/${where}/leases/${id}`, { token }));
	return {
		...world,
		redis,
		proxy,
		async set(fields = {}) {
			const usual = { address: proxy.address, password: redis.password, max_connections: 1000 };
			return ok(await world.configure("keyvalue", { ...usual, ...fields }));
		},
		make,
		async made(params, where) {
			const answer = await make(params, where);
			return { ...ok(answer), lease: await world.leaseOf(answer, where) };
		},
		isThere: async (username) => (await redis.users()).includes(username),
		lease,
		async until(id, state) {
			await eventually(`the lease is ${state}`, async () => (await lease(id)).state === state);
			return lease(id);
		},
		revoke: async (id) => (await client.delete(`/realms/${slug}/leases/${id}`, { token })).status,
		history: async (name) => (await events(client, admin)).filter(({ data }) => data.name === name).reverse(),
		openLeases: async () => Object.values((await world.details()).leases.open).reduce((sum, count) => sum + count),
		async metric(series) {
			const { text } = await client.send("GET", "/metrics");
			const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
			return Number(line?.slice(series.length + 1) ?? 0);
		},
	};
}
