import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient, MongoServerError } from "mongodb";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { bind, person, realm } from "../harness/fixtures.ts";
import { type Mongo, skipWithoutMongo, startMongo } from "../peers/mongo.ts";
import { startProxy } from "../peers/proxy.ts";

interface Credential {
	username: string;
	password: string;
	expires_at: string;
	database: string;
	auth_database: string;
	connection_uri: string;
}

const skip = await skipWithoutMongo();
const options = { skip, timeout: 300_000 };
const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;

let world: EngineWorld;
let mongo: Mongo;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skip !== false) return;
	mongo = await startMongo();
	ends.defer(mongo.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await configure({}));
});

const configure = (more: object, where?: string) =>
	world.configure("documentdb", { connection_uri: mongo.uri, database: "app", ...more }, where);

const invoke = <T = Credential>(what: "generate" | "validate", params: object, where?: string) =>
	world[what]<T>("documentdb", params, where);

const generate = (params: object = {}, where?: string) => invoke("generate", { database: "app", ...params }, where);

/** Makes a realm with its own configuration. */
async function configured(more: object): Promise<string> {
	const { slug } = await realm(world.client, world.admin);
	assert.equal(ok(await configure(more, slug)).status, "healthy");
	return slug;
}

async function isThere(username: string, database?: string): Promise<boolean> {
	return (await mongo.users(database)).includes(username);
}

/** Logs in as the recipient of the credential does. */
async function login(t: TestContext, { connection_uri }: Credential): Promise<MongoClient> {
	const client = new MongoClient(connection_uri, { serverSelectionTimeoutMS: 5000 });
	t.after(() => client.close());
	return client.connect();
}

/** Returns a user's rights in a database: any result but a missing right counts as success. */
async function rightsIn(client: MongoClient, database: string) {
	const things = client.db(database).collection("things");
	const may = (action: Promise<unknown>) =>
		action.then(
			() => true,
			(error) => {
				assert.ok(error instanceof MongoServerError, String(error));
				return error.code !== UNAUTHORIZED;
			},
		);
	return {
		find: await may(things.findOne()),
		insert: await may(things.insertOne({ a: 1 })),
		index: await may(things.createIndex({ a: 1 })),
		users: await may(client.db(database).command({ createUser: "mine", pwd: "mine", roles: [] })),
	};
}

const NOTHING = { find: false, insert: false, index: false, users: false };

/** Spec: ENGINES › Document database engine configuration. */
const ROLES = {
	read: { ...NOTHING, find: true },
	readWrite: { ...NOTHING, find: true, insert: true, index: true },
	dbAdmin: { ...NOTHING, index: true },
};

for (const [role, rights] of Object.entries(ROLES)) {
	test(`${role} is granted on the database, for SCRAM-SHA-256, and nowhere else`, options, async (t) => {
		const made = ok(await generate({ role }));
		const { users } = await mongo.admin("admin", { usersInfo: { user: made.username, db: "admin" } });
		const [user] = users.filter((found: { user: string }) => found.user === made.username);
		assert.deepEqual(user.roles, [{ role, db: "app" }]);
		assert.deepEqual(user.mechanisms ?? ["SCRAM-SHA-256"], ["SCRAM-SHA-256"]);
		const client = await login(t, made);
		assert.deepEqual(await rightsIn(client, "app"), rights);
		for (const database of ["admin", "other"]) assert.deepEqual(await rightsIn(client, database), NOTHING, database);
	});
}

test(
	"a credential is what the specification says, and is gone after validate with its connection",
	options,
	async (t) => {
		const begin_ms = Math.floor(Date.now() / 1000) * 1000;
		const answer = await generate({ ttl: "10m" });
		const made = ok(answer);
		fields(made, ["username", "password", "expires_at", "database", "auth_database", "connection_uri"]);
		const { username, password } = made;
		assert.match(username, /^svc_[0-9a-f]{8}$/);
		assert.match(password, /^[0-9a-f]{24}$/);
		assert.match(made.expires_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
		const lifetime_ms = Date.parse(made.expires_at) - begin_ms;
		assert.ok(lifetime_ms >= 600_000 && lifetime_ms < 660_000, `${lifetime_ms} ms`);
		assert.deepEqual([made.database, made.auth_database], ["app", "admin"]);
		const uri = made.connection_uri.split("&")[0];
		assert.equal(uri, `mongodb://${username}:${password}@${mongo.address}/app?authSource=admin`);
		const { state, role, name, engine } = await world.leaseOf(answer);
		assert.deepEqual(
			{ state, role, name, engine },
			{ state: "active", role: "read", name: username, engine: "documentdb" },
		);

		const session = await login(t, made);
		await session.db("app").collection("things").findOne();
		const message = `credentials revoked: user ${username} dropped`;
		assert.deepEqual(ok(await invoke("validate", { username })), { valid: true, message });
		assert.equal(await isThere(username), false);
		assert.equal((await world.leaseOf(answer)).state, "revoked");
		await assert.rejects(session.db("app").collection("things").findOne(), "its open connection is of no use");
		await assert.rejects(login(t, made), { code: AUTHENTICATION_FAILED });
		assert.deepEqual(ok(await invoke("validate", { username })), { valid: true, message }, "and again");
	},
);

test("users live in the configured authentication database and are dropped there", options, async (t) => {
	const slug = await configured({ auth_database: "logins" });
	const answer = await generate({}, slug);
	const made = ok(answer);
	const { username } = made;
	assert.equal(made.auth_database, "logins");
	assert.match(made.connection_uri, /\/app\?authSource=logins(?:&|$)/);
	assert.deepEqual([await isThere(username, "logins"), await isThere(username)], [true, false]);
	await login(t, made);
	refused(await generate({ auth_database: "admin" }, slug), 400, "validation_failed");
	refused(await invoke("validate", { username, auth_database: "admin" }, slug), 400, "validation_failed");
	assert.equal(await isThere(username, "logins"), true);
	assert.equal(
		ok(await invoke<{ valid: boolean }>("validate", { username, auth_database: "logins" }, slug)).valid,
		true,
	);
	assert.equal(await isThere(username, "logins"), false);
});

test("a database that the configuration lists is granted, by name even admin", options, async (t) => {
	const slug = await configured({ allowed_databases: ["shop", "admin"] });
	for (const database of ["shop", "admin"]) {
		const made = ok(await generate({ database }, slug));
		assert.match(made.connection_uri, new RegExp(`/${database}\\?authSource=admin`));
		const client = await login(t, made);
		assert.equal((await rightsIn(client, database)).find, true);
		assert.equal((await rightsIn(client, "app")).find, false);
	}
});

test("a credential is gone soon after its end", options, async () => {
	const answer = await generate({ ttl: "1s" });
	const { username } = ok(answer);
	await eventually("the user is gone", async () => !(await isThere(username)));
	await eventually("the lease is closed", async () => (await world.leaseOf(answer)).state === "revoked");
});

test("a credential outlives neither a kill of the server nor the absence of its target", options, async (t) => {
	if (mongo.isForeign) return t.skip("the server is somebody else's");
	const answer = await generate({ ttl: "4s" });
	const { username, expires_at } = ok(answer);
	await world.server.kill("SIGKILL");
	mongo.pause();
	await sleep(Date.parse(expires_at) + 500 - Date.now());
	await world.server.restart();
	await eventually("the lease is due", async () => (await world.leaseOf(answer)).attempts > 0);
	assert.equal((await world.leaseOf(answer)).state, "revoking");
	mongo.resume();
	await eventually("the user is gone", async () => !(await isThere(username)));
	await eventually("the lease is closed", async () => (await world.leaseOf(answer)).state === "revoked");
});

test("a lost administrator blocks the target, and another one drains it without a restart", options, async (t) => {
	const [host = "", port] = mongo.address.split(":");
	// To the core this is another target, which no other configuration uses.
	const proxy = await startProxy(Number(port), host);
	t.after(proxy.stop);
	const through = (uri: string) => `${uri.replace(mongo.address, proxy.address)}/?directConnection=true`;
	await mongo.admin("admin", { createUser: "deputy", pwd: "deputy", roles: ["root"] });
	const slug = await configured({ connection_uri: through(`mongodb://deputy:deputy@${mongo.address}`) });
	const answer = await generate({ ttl: "4s" }, slug);
	const { username } = ok(answer);
	await mongo.admin("admin", { dropUser: "deputy" });
	const statuses = async () => (await world.details()).targets.map(({ status }) => status);
	await eventually("the target is blocked", async () => (await statuses()).includes("blocked"));
	const { state, last_error } = await world.leaseOf(answer, slug);
	assert.equal(state, "revoking");
	assert.match(last_error, /\S/);
	refused(await generate({}, slug), 400, "engine_error");
	assert.equal(ok(await configure({ connection_uri: through(mongo.uri) }, slug)).status, "healthy");
	await eventually("the user is gone", async () => !(await isThere(username)));
	await eventually("the lease is closed", async () => (await world.leaseOf(answer, slug)).state === "revoked");
	assert.ok(!(await statuses()).includes("blocked"));
});

test("the realm's deletion revokes its credentials", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const own = await configured({});
	const names = [ok(await generate({}, slug)).username, ok(await generate({}, own)).username];
	for (const gone of [slug, own]) ok(await world.client.delete(`/realms/${gone}`, { token: world.admin.token }));
	await eventually("the users are gone", async () => (await mongo.users()).every((name) => !names.includes(name)));
});

test("another realm's credential is not found, and lives", options, async () => {
	const { username } = ok(await generate());
	const { slug } = await realm(world.client, world.admin);
	refused(await invoke("validate", { username }, slug), 404, "not_found");
	assert.equal(await isThere(username), true);
});

test("a name that nobody made is answered when it is absent, and left alone when it exists", options, async () => {
	const message = "credentials revoked: user svc_00000001 dropped";
	assert.deepEqual(ok(await invoke("validate", { username: "svc_00000001" })), { valid: true, message });
	await mongo.admin("admin", { createUser: "svc_00000002", pwd: "x", roles: [] });
	refused(await invoke("validate", { username: "svc_00000002" }), 404, "not_found");
	assert.equal(await isThere("svc_00000002"), true);
	await mongo.admin("admin", { dropUser: "svc_00000002" });
});

test("a user that somebody dropped by hand counts as revoked", options, async () => {
	const answer = await generate();
	const { username } = ok(answer);
	await mongo.admin("admin", { dropUser: username });
	assert.equal(ok(await invoke<{ valid: boolean }>("validate", { username })).valid, true);
	assert.equal((await world.leaseOf(answer)).state, "revoked");
});

test("exactly max_connections of thirty at once are made, and each end makes room", options, async () => {
	const slug = await configured({ max_connections: 5 });
	const answers = await Promise.all(Array.from({ length: 30 }, () => generate({}, slug)));
	const won = answers.filter(({ status }) => status === 200).map(({ body }) => body.username);
	assert.equal(won.length, 5);
	for (const lost of answers.filter(({ status }) => status !== 200)) refused(lost, 409, "lease_limit_reached");
	assert.equal((await mongo.users()).filter((name) => won.includes(name)).length, 5);
	ok(await invoke("validate", { username: won[0] }, slug));
	ok(await generate({}, slug));
	refused(await generate({}, slug), 409, "lease_limit_reached");
});

test("what somebody may do in the realm decides which roles they get", options, async () => {
	const ALLOWED = { viewer: ["read"], member: ["read", "readWrite"], admin: ["read", "readWrite", "dbAdmin"] };
	for (const [part, allowed] of Object.entries(ALLOWED)) {
		const { slug } = await realm(world.client, world.admin);
		const who = await person(world.client, part);
		await bind(world.client, world.admin, slug, who, part);
		const path = `/realms/${slug}/engines/documentdb/generate`;
		for (const role of Object.keys(ROLES)) {
			const answer = await world.client.post(path, { role, database: "app" }, { token: who.token });
			if (allowed.includes(role)) ok(answer);
			else refused(answer, 403, "forbidden");
		}
	}
});
