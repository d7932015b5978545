import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

const options = { skip: skipWithoutRedis };
let world: EngineWorld;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

/** Stops the server, runs SQL on its database as another program would, and starts it again. */
async function restartAfter(sql: string): Promise<void> {
	await world.server.stop();
	const database = new DatabaseSync(join(world.server.data, "svc.db"));
	database.exec(sql);
	database.close();
	await world.server.restart();
}

/** Stops the server, adopts its database as it is, and starts it again. */
async function adopt(): Promise<void> {
	await world.server.stop();
	const { code, stderr } = await runLocal(world.server.data, ["adopt", "--again", "--yes"]);
	assert.equal(code, 0, stderr);
	await world.server.restart();
}

test("a credential whose lease another program put off is revoked immediately", options, async () => {
	const { client } = world;
	const { username } = ok(await world.generate<{ username: string }>("keyvalue", { role: "readonly", ttl: "1h" }));
	await restartAfter("UPDATE lease SET due_at = 33000000000000");
	await eventually("the credential is gone", async () => !(await redis.users()).includes(username));
	const health = await client.get<{ status: string; checks: { database: string } }>("/health");
	assert.deepEqual([health.status, health.body.checks.database], [503, "unhealthy"]);
	ok(await client.get("/health?ready=true"));
	assert.match(world.server.stderr(), /"event":"leases\.distrusted","count":1/);
	assert.match(world.server.stderr(), /"event":"rows\.altered".*\blease\b/);
	ok(await client.get("/realms", { token: world.admin.token }));
	await adopt();
});

test(
	"over a database with another program's trigger all but health is refused, and leases are revoked",
	options,
	async () => {
		const { client, admin, slug } = world;
		const { username } = ok(await world.generate<{ username: string }>("keyvalue", { role: "readonly", ttl: "5s" }));
		await restartAfter(
			"CREATE TRIGGER promote AFTER INSERT ON session BEGIN UPDATE account SET instance_admin = 1; END",
		);
		const { token } = admin;
		for (const path of [
			"/realms",
			`/realms/${slug}/secrets/KEY?env=dev`,
			`/eso/${slug}?env=dev`,
			`/eso/${slug}/KEY?env=dev`,
			"/openapi.json",
		])
			refused(await client.get(path, { token }), 503, "database_altered");
		refused(await client.post("/auth/login", { email: admin.email, password: PASSWORD }), 503, "database_altered");
		const health = await client.get<{ status: string; checks: { database: string } }>("/health");
		assert.deepEqual([health.status, health.body.status, health.body.checks.database], [503, "unhealthy", "unhealthy"]);
		assert.equal((await client.get("/health?ready=true")).status, 503);
		assert.match(world.server.stderr(), /"event":"database\.altered".*\bpromote\b/);
		await eventually("the credential is gone", async () => !(await redis.users()).includes(username));
		await restartAfter("DROP TRIGGER promote");
		refused(await client.get("/realms", { token }), 503, "database_altered");
		await adopt();
		assert.equal(ok(await client.get<{ status: string }>("/health")).status, "healthy");
		const { events } = ok(
			await client.get<{ events: { type: string; data: string }[] }>("/audit/events?type=database.altered", { token }),
		);
		const [later, first] = events.map(({ data }) => JSON.parse(data).altered);
		assert.equal(first, "trigger promote");
		assert.match(later, /^the end of the audit log\b/);
	},
);
