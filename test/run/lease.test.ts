/* `svc run --lease`: a credential of a real Redis for as long as a program runs. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { page, startService } from "../../packages/cli/src/testing/fake-server.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, secret } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";
import { type Person, type Svc, startPerson } from "./run-world.ts";

const options = { skip: skipWithoutRedis };

let redis: Redis;
let world: EngineWorld;
let ada: Person;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
	await secret(world.client, world.admin, world.slug, "GREETING", "hello-from-a-secret");
	ada = ends.use(await startPerson(world.server, world.admin.token));
	Object.assign(ada.env, { SVC_REALM: world.slug });
});

const LEASE = ["run", "--lease", "keyvalue:readonly"];
const sh = (script: string, ...more: string[]) => [...LEASE, ...more, "--", "sh", "-c", script];

/** Fails unless no credential is left and its entry in the ledger is closed. */
async function assertRevoked(): Promise<void> {
	assert.deepEqual(await redis.users(), []);
	assert.deepEqual(new Set((await world.leases()).map(({ state }) => state)), new Set(["revoked"]));
}

test("the program has a credential that works, under the engine's name or one of its own", options, async () => {
	const print = 'env | grep -E "^(KEYVALUE|CACHE)_"; echo done; exec sleep 60';
	const two = ada.start(sh(print, "--no-masking", "--lease", "cache=keyvalue:readwrite,ttl=30m"));
	await two.shows("done\n");
	const env = Object.fromEntries(
		two
			.stdout()
			.split("\n")
			.map((line) => line.split(/=(.*)/s).slice(0, 2)),
	);
	assert.equal(env.KEYVALUE_HOST, "127.0.0.1");
	assert.equal(env.KEYVALUE_PORT, String(redis.port));
	assert.equal(env.KEYVALUE_URL, `redis://${env.KEYVALUE_USERNAME}:${env.KEYVALUE_PASSWORD}@${redis.address}`);
	assert.notEqual(env.CACHE_USERNAME, env.KEYVALUE_USERNAME);
	const session = await redis.login(env.CACHE_USERNAME, env.CACHE_PASSWORD);
	assert.equal(await session.send("SET", "a", "1"), "OK");
	session.end();
	two.child.kill("SIGTERM");
	assert.equal((await two.ended()).code, 128 + 15);
	await assertRevoked();
});

test("it is revoked whatever way the program ends, or never starts", options, async () => {
	for (const [script, code] of [
		["exit 0", 0],
		["exit 7", 7],
		["kill -9 $$", 137],
	] as const) {
		assert.equal((await ada.run(sh(`test -n "$KEYVALUE_PASSWORD" || exit 99; ${script}`))).code, code);
		await assertRevoked();
	}
	assert.equal((await ada.run([...LEASE, "--", "no-such-program"])).code, 127);
	assert.equal((await ada.run([...LEASE, "--require", "/dev/null/none", "true"])).code, 125);
	await assertRevoked();
	for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
		const svc = ada.start(sh("echo ready; exec sleep 60"));
		await svc.shows("ready");
		assert.equal((await redis.users()).length, 1);
		svc.child.kill(signal);
		await svc.ended();
		await assertRevoked();
	}
});

test("a token for the environment and the role is enough for it to be made and revoked", options, async () => {
	const limits = { realm: world.slug, environment: "dev", engines: ["keyvalue:readonly"] };
	const { token: SVC_TOKEN } = await apiToken(world.client, world.admin, "read", limits);
	const { code, stderr } = await ada.run(sh('test -n "$KEYVALUE_PASSWORD$GREETING"'), { SVC_TOKEN });
	assert.deepEqual([code, stderr], [0, ""]);
	await assertRevoked();
});

test("a signal that comes before the program starts keeps it from starting", options, async () => {
	let svc: Svc | undefined;
	await using fake = await startService(async ({ url }) => {
		if (url.includes("/secrets")) return page("secrets", []);
		if (!url.includes("/generate")) return { body: { message: "lease revoked" } };
		svc?.child.kill("SIGTERM");
		// The signal leaves immediately, and arrives long before this answer.
		await sleep(500);
		const made = { username: "svc_1", password: "p", address: "127.0.0.1:1" };
		return { body: made, headers: { "x-lease-id": "a-lease" } };
	});
	svc = ada.start(sh("echo started"), fake.env);
	const { code, stdout, stderr } = await svc.ended();
	assert.deepEqual([code, stdout, stderr], [128 + 15, "", ""]);
	const { method, url } = fake.requests.at(-1) ?? {};
	assert.deepEqual([method, url], ["DELETE", `/api/v1/realms/${world.slug}/leases/a-lease`]);
});

test("its password is masked, and what is no secret of it is not", options, async () => {
	const { stdout } = await ada.run(
		sh('echo "$KEYVALUE_HOST:$KEYVALUE_PORT $KEYVALUE_URL $KEYVALUE_PASSWORD $GREETING"'),
	);
	assert.equal(stdout, `${redis.address} ***** ***** *****\n`);
});

test("what an engine refuses starts nothing", options, async () => {
	for (const wish of ["keyvalue:root", "keyvalue:readonly,ttl=long", "nothing:read"]) {
		const { code, stdout } = await ada.run(["run", "--lease", wish, "--", "echo", "started"]);
		assert.deepEqual([code, stdout], [125, ""], wish);
	}
	for (const wish of ["keyvalue", ":readonly", "keyvalue:readonly,ttl", "a-b=keyvalue:readonly"]) {
		const { code, stderr } = await ada.run(["run", "--lease", wish, "--", "true"]);
		assert.equal(code, 125);
		assert.match(stderr, /^svc: --lease .*\bengine:role\b/);
	}
	await secret(world.client, world.admin, world.slug, "KEYVALUE_URL", "mine", { environment: "test" });
	const twice = await ada.run(sh("true", "--env", "test"));
	assert.equal(twice.code, 125);
	assert.match(twice.stderr, /^svc: --lease keyvalue .*variable/);
	await assertRevoked();
});

test(
	"a credential that cannot be revoked now is reported, and the exit code stays the program's",
	options,
	async () => {
		const svc = ada.start(sh("echo ready; exec sleep 60"));
		await svc.shows("ready");
		const [lease] = await world.leases("active");
		await world.server.kill("SIGKILL");
		svc.child.kill("SIGTERM");
		const { code, stderr } = await svc.ended();
		assert.equal(code, 128 + 15);
		assert.match(stderr, new RegExp(`\`svc lease revoke ${lease?.id}`));
	},
);
