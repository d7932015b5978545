/* `GET /doctor` and `svc doctor` against a real server, with a real store that works and one that does not answer. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { startFakeOrchestrator } from "../peers/kubernetes-fake.ts";
import { skipWithoutMongo, startMongo } from "../peers/mongo.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

interface Check {
	readonly name: string;
	readonly status: string;
	readonly message: string;
	readonly hint: string;
}

const PASSWORD = "a-password-that-nobody-sees";

/** The usual checks in the order shown; engines follow. */
const USUAL = [
	"clock",
	"certificate",
	"base_url",
	"registration",
	"master_key",
	"files",
	"disk",
	"database",
	"rows",
	"audit",
	"backup",
];

const withoutMongo = await skipWithoutMongo();

let world: EngineWorld;
let cli: Cli;

before(async () => {
	world = await startEngineWorld();
	cli = await createCli(world.server, world.admin);
});
after(async () => {
	await cli.close();
	await world.close();
});

async function examine(query = ""): Promise<Check[]> {
	const { client, admin } = world;
	return ok(await client.get<{ checks: Check[] }>(`/doctor${query}`, { token: admin.token })).checks;
}

const of = (checks: readonly Check[], name: string) => checks.filter((check) => check.name === name);
const found = (checks: readonly Check[]) => checks.map(({ status, message }) => `${status} ${message}`);
/** Returns the status and what each check is about, which is before the colon. */
const named = (checks: readonly Check[]) => found(checks).map((line) => line.split(":")[0]);

test("a new server has no failed check, and warnings to make a backup and to keep its key elsewhere", async () => {
	for (const query of ["", "?deep=false", "?deep=true"]) {
		const checks = await examine(query);
		assert.deepEqual(
			checks.map(({ name }) => name),
			[
				...USUAL.slice(0, -1),
				...(query === "?deep=true" ? ["rights", "sealed"] : []),
				"backup",
				"limits",
				"leases",
				"engines",
				"passkeys",
			],
		);
		assert.deepEqual(
			checks.filter(({ status }) => status !== "ok").map(({ name, status }) => [name, status]),
			[
				["master_key", "warning"],
				["backup", "warning"],
			],
		);
		for (const { status, hint } of checks) assert.equal(hint === "", status === "ok");
	}
	const { client, admin } = world;
	refused(await client.get("/doctor?deep=perhaps", { token: admin.token }), 400, "validation_failed");
});

test("a backup is found", async () => {
	const { client, admin } = world;
	ok(await client.post("/backups", {}, { token: admin.token }), 201);
	assert.match(found(of(await examine(), "backup")).join(), /^ok .* \d{4}-/);
});

test("svc doctor shows a line for each check and what to do below, adds what only it can see, and ends with 0", async () => {
	const { code, stdout, stderr } = await cli.run(["doctor"]);
	assert.deepEqual([code, stderr], [0, ""]);
	assert.match(stdout, /^ok +clock +\S/m);
	assert.match(stdout, /^warning +master_key +\S.*\n +hint: \S/m);
	for (const name of ["connection", "client clock", "client version", "session file"])
		assert.match(stdout, new RegExp(`^ok +${name} {2}`, "m"));
	const { checks } = JSON.parse((await cli.run(["doctor", "--json", "--deep"])).stdout) as { checks: Check[] };
	assert.ok(checks.length >= USUAL.length + 6);
	for (const check of checks) assert.deepEqual(Object.keys(check), ["name", "status", "message", "hint"]);
});

test("each right that the store's user lacks is named, with the command that gives it", {
	skip: skipWithoutRedis,
}, async (t) => {
	const redis = await startRedis({ aclfile: true });
	t.after(() => redis.stop());
	const rights = ["+ping", "+acl|setuser", "+acl|getuser", "+acl|users", "+client|id", "+info"];
	await redis.admin("ACL", "SETUSER", "few", "on", `>${PASSWORD}`, ...rights);
	const before = await redis.users();
	const fields = { address: redis.address, username: "few", password: PASSWORD, acl_save: true };
	ok(await world.configure("keyvalue", fields));
	const checks = of(await examine(), "keyvalue");
	assert.deepEqual(named(checks), ["failed ACL DELUSER", "warning CLIENT KILL", "failed ACL SAVE"]);
	assert.equal(checks[0]?.hint, "on the store: ACL SETUSER few +acl|deluser");
	assert.ok(!JSON.stringify(checks).includes(PASSWORD));
	const { code, stdout, stderr } = await cli.run(["doctor"]);
	assert.equal(code, 1);
	assert.match(stderr, /^svc: 2 checks\b/);
	assert.match(stdout, /^failed +keyvalue +ACL DELUSER: .*\n +hint: on the store: ACL SETUSER few \+acl\|deluser$/m);
	// Following the hints is enough.
	for (const { hint } of checks) await redis.admin(...hint.replace("on the store: ", "").split(" "));
	assert.match(found(of(await examine(), "keyvalue")).join("\n"), /^ok .*\b8 privileges\b.*$/);
	assert.deepEqual(await redis.users(), before, "looking made nobody");
});

test("users that a restart of the store would bring back are a warning", { skip: skipWithoutRedis }, async (t) => {
	const redis: Redis = await startRedis({ aclfile: true });
	t.after(() => redis.stop());
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
	assert.match(found(of(await examine(), "keyvalue")).join(), /^warning aclfile\b/);
});

test("a target that is away is one failed check, and the others are looked at", async () => {
	ok(await world.configure("keyvalue", { address: "127.0.0.1:1", password: PASSWORD }));
	const checks = await examine();
	assert.match(found(of(checks, "keyvalue")).join("\n"), /^failed ping failed: .*\(ECONNREFUSED\)$/);
	assert.ok(checks.length > USUAL.length);
	assert.ok(!JSON.stringify(checks).includes(PASSWORD));
});

test("what the document database's user lacks is named, for each database", {
	skip: withoutMongo,
}, async (t) => {
	const mongo = await startMongo();
	await mongo.admin("admin", {
		createUser: "few",
		pwd: PASSWORD,
		roles: [{ role: "userAdmin", db: "admin" }],
	});
	t.after(async () => {
		await mongo.admin("admin", { dropUser: "few" });
		await mongo.stop();
	});
	const connection_uri = mongo.uri.replace(/\/\/[^@]*@/, `//few:${PASSWORD}@`);
	const allowed_databases = ["shop"];
	ok(await world.configure("documentdb", { connection_uri, database: "app", allowed_databases }));
	const checks = of(await examine(), "documentdb");
	assert.deepEqual(named(checks), ["failed grantRole on app", "failed grantRole on shop"]);
	assert.ok(!JSON.stringify(checks).includes(PASSWORD));
	ok(await world.configure("documentdb", { connection_uri: mongo.uri, database: "app", allowed_databases }));
	assert.match(found(of(await examine(), "documentdb")).join(), /^ok .*\b5 privileges\b/);
});

test("missing permissions of the orchestrator's account are named", async (t) => {
	const fake = await startFakeOrchestrator();
	t.after(() => fake.stop());
	fake.denied.add("create rolebindings in apps");
	const fields = { api_server: fake.url, bearer_token: fake.token, ca_cert: fake.ca, allowed_namespaces: ["apps"] };
	ok(await world.configure("containerorch", fields));
	const checks = of(await examine(), "containerorch");
	assert.deepEqual(named(checks), ["failed create rolebindings in apps"]);
	assert.match(checks[0]?.hint ?? "", /manifest\.yaml/);
	assert.ok(!JSON.stringify(checks).includes(fake.token));
});
