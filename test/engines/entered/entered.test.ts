import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type EngineWorld, startEngineWorld } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../../peers/redis.ts";

/*
 * Counts the files of the server that you read to follow a credential. Do not merge files that a reader would look for separately only to lower it.
 * Commit 67a02aa, counted by the same probe, enters 48 in all threads, and 34 of its own. Since then requests have come to wait in fair queues, rows
 * to be authenticated, and tips to be sealed.
 */

/** All files of the server in which a function runs, in any of its threads, while it answers one request. */
const MOST = 48;

/** Files among them that a request with a token and a body does not enter before its route. */
const MOST_OF_ITS_OWN = 30;

/** Milliseconds without a print after which every thread has printed. */
const QUIET_MS = 150;

/** Requests of each sort: what a timer happens to run meanwhile is not entered every time. */
const ROUNDS = 10;

const options = { skip: skipWithoutRedis };
let world: EngineWorld;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	const NODE_OPTIONS = `--import=${new URL("./probe.ts", import.meta.url).href}`;
	world = await startEngineWorld({ program: "test/engines/entered/server.ts", env: { NODE_OPTIONS } });
	ends.defer(world.close);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

const generate = () => world.generate("keyvalue", { role: "readonly", ttl: "10m" });

test("issuing a credential enters few files of the server, in all threads together", options, async () => {
	ok(await generate());
	const all = await entered(async () => void ok(await generate()));
	const { slug, admin, client } = world;
	const path = `/api/v1/realms/${slug}/engines/keyvalue/generate`;
	const arriving = await entered(async () =>
		refused(await client.send("POST", path, { token: admin.token, raw: '"no object"' }), 400, "validation_failed"),
	);
	const own = all.filter((file) => !arriving.includes(file));
	for (const file of ["engines/issue.ts", "store/sqlite/writes/leases.ts"]) assert.ok(own.includes(file), file);
	assert.ok(arriving.includes("policy/authenticate.ts"));
	assert.ok(own.length <= MOST_OF_ITS_OWN, `${own.length} of its own: ${own.join(" ")}`);
	assert.ok(all.length <= MOST, `${all.length}: ${all.join(" ")}`);
});

/** Lists the files of the server that a request enters, in any thread, each time that it is sent. */
async function entered(send: () => Promise<void>): Promise<string[]> {
	let files: string[] | undefined;
	for (let round = 0; round < ROUNDS; round++) {
		await sinceLastTime();
		await send();
		const now = await sinceLastTime();
		files = files?.filter((file) => now.includes(file)) ?? now;
	}
	return (files ?? []).sort();
}

/** Lists the files in which a function has run since the last call, in any thread. */
async function sinceLastTime(): Promise<string[]> {
	const { server } = world;
	const written = server.stdout().length;
	process.kill(server.pid, "SIGUSR2");
	const printed = () =>
		server
			.stdout()
			.slice(written)
			.split(/^entered (?=.*\n)/m)
			.slice(1)
			.map((line) => JSON.parse(line.slice(0, line.indexOf("\n"))) as string[]);
	let seen: number;
	do {
		seen = printed().length;
		await sleep(QUIET_MS);
	} while (seen === 0 || seen < printed().length);
	return [...new Set(printed().flat())];
}
