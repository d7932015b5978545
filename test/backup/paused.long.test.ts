import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { stays } from "../../packages/server/src/testing/stays.ts";
import { createCli } from "../harness/cli.ts";
import { type EngineWorld, eventually, type Lease, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, login } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";
import { runLocal } from "./local.ts";

const options = { skip: skipWithoutRedis };
const ends = new AsyncDisposableStack();

let world: EngineWorld;
let redis: Redis;
/** API tokens outlive a restore. */
let token: string;

/** A credential, and its lease. */
interface Made {
	readonly username: string;
	readonly id: string;
}

before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	({ token } = await apiToken(world.client, world.admin, "read,write,delete"));
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});
after(() => ends.disposeAsync());

const generate = (ttl: string) =>
	world.client.post<{ username: string }>(
		`/realms/${world.slug}/engines/keyvalue/generate`,
		{ role: "readonly", ttl },
		{ token },
	);

async function make(ttl: string): Promise<Made> {
	const answer = await generate(ttl);
	return { username: ok(answer).username, id: String(answer.headers["x-lease-id"]) };
}

const path = ({ id }: Made) => `/realms/${world.slug}/leases/${id}`;
const stateOf = async (made: Made) => ok(await world.client.get<Lease>(path(made), { token })).state;
const isThere = async ({ username }: Made) => (await redis.users()).includes(username);

let due: Made;
let byHand: Made;
let ended: Made;
let since: Made;

test("leases of a restored server: what was made, ended and became due since the backup", options, async () => {
	[byHand, ended] = [await make("1h"), await make("1h")];
	// Longer than a slow machine needs to stop the server.
	due = await make("12s");
	const { name } = ok(await world.client.post<{ name: string }>("/backups", undefined, { token }), 201);
	ok(await world.client.delete(path(ended), { token }));
	since = await make("1h");
	await world.server.stop();
	const folder = mkdtempSync(join(tmpdir(), "svc-paused-"));
	ends.defer(async () => rmSync(folder, { recursive: true }));
	cpSync(join(world.server.data, "backups", name), join(folder, name));
	const { code, stderr } = await runLocal(world.server.data, ["restore", join(folder, name), "--replace", "--yes"]);
	assert.equal(code, 0, stderr);
	await world.server.restart();
	assert.equal((await world.details()).leases.paused, true);
});

test(
	"while leases rest nothing ends by itself and nothing is made, but a person may end what they name",
	options,
	async () => {
		await eventually("the first lease is due", async () => (await world.details()).leases.oldest_overdue_seconds >= 2);
		// Longer than the reaper rests between two rounds.
		await stays("nothing ends", async () => (await stateOf(due)) === "active" && (await isThere(due)), 2500);
		const refusal = await generate("1h");
		refused(refusal, 409, "conflict");
		assert.match(refusal.text, /svc lease resume/);
		ok(await world.client.delete(path(byHand), { token }));
		assert.deepEqual([await stateOf(byHand), await isThere(byHand)], ["revoked", false]);
	},
);

test("svc lease list says below that they rest, and svc lease resume ends it", options, async () => {
	const cli = await createCli(world.server, { ...world.admin, token });
	ends.defer(cli.close);
	const list = () => cli.run(["lease", "list", "--realm", world.slug]);
	assert.match((await list()).stderr, /`svc lease resume`/);
	assert.equal((await cli.run(["lease", "resume"])).code, 0);
	assert.equal((await list()).stderr, "");
});

test(
	"then everything is settled: what is due ends, what is unknown is reported, and credentials are made again",
	options,
	async () => {
		await eventually("what was due has ended", async () => (await stateOf(due)) === "revoked");
		assert.equal(await isThere(due), false);
		const admin = { ...world.admin, token: await login(world.client, world.admin) };
		await eventually("what was made since is reported", async () => {
			const orphans = await events(world.client, admin, "type=lease.orphan");
			return orphans.some(({ data }) => data.name === since.username);
		});
		assert.equal(await isThere(since), true, "another server may own it");
		// Active in the restored ledger, but gone since before the restore.
		ok(await world.client.delete(path(ended), { token }));
		assert.equal(await stateOf(ended), "revoked");
		await make("1h");
	},
);
