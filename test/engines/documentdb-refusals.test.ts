import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type FakeMongo, startFakeMongo } from "../peers/mongo-fake.ts";

/* None of the requests refused here reaches the database, so a database that only records commands is enough. */

interface Credential {
	username: string;
	expires_at: string;
	connection_uri: string;
}

let world: EngineWorld;
let fake: FakeMongo;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	fake = await startFakeMongo();
	ends.defer(fake.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await configure({}));
});

const configure = (more: object, where?: string) =>
	world.configure("documentdb", { connection_uri: fake.uri, database: "app", ...more }, where);

const generate = (params: object, where?: string) => world.generate<Credential>("documentdb", params, where);

/** Commands that change something. */
const changes = () => fake.commands.filter((command) => "createUser" in command || "dropUser" in command);

type What = "generate" | "validate";

/** Calls the engine, and fails unless the call is refused and nothing was made, dropped or written. */
async function refusedWithoutTrace(what: What, params: object, code: string, message: RegExp): Promise<void> {
	const [made, leases] = [changes().length, (await world.leases()).length];
	const answer = await world[what]<ErrorBody>("documentdb", params);
	refused(answer, 400, code);
	assert.match(answer.body.error.message, message);
	assert.equal(answer.headers["x-lease-id"], undefined);
	assert.deepEqual([changes().length, (await world.leases()).length], [made, leases]);
}

const NOT_ALLOWED = /\ballowed_databases\b/;
const DATABASES = [
	"admin",
	"local",
	"config",
	"other",
	"App",
	"app ",
	"app.things",
	"$external",
	"../app",
	"app\0admin",
];

for (const database of DATABASES) {
	test(`the database ${JSON.stringify(database)} is nobody's`, async () => {
		for (const role of ["read", "readWrite", "dbAdmin"])
			await refusedWithoutTrace("generate", { database, role }, "validation_failed", NOT_ALLOWED);
	});
}

test("admin, local and config are reached when they are listed, and not when they are only configured", async () => {
	for (const database of ["admin", "local", "config"]) {
		const { slug } = await realm(world.client, world.admin);
		ok(await configure({ database }, slug));
		refused(await generate({ database }, slug), 400, "validation_failed");
		ok(await configure({ database: "app", allowed_databases: [database] }, slug));
		ok(await generate({ database }, slug));
		assert.deepEqual(fake.commands.findLast(({ createUser }) => createUser !== undefined)?.roles, [
			{ role: "read", db: database },
		]);
	}
});

const OWN_ONLY = /^auth_database\b/;
for (const auth_database of ["$external", "app", "local", "ADMIN", "admin\r\n", "admin\0"]) {
	test(`the authentication database ${JSON.stringify(auth_database)} is refused`, async () => {
		await refusedWithoutTrace("generate", { database: "app", auth_database }, "validation_failed", OWN_ONLY);
		const revoke = { username: "svc_00000001", auth_database };
		await refusedWithoutTrace("validate", revoke, "validation_failed", OWN_ONLY);
	});
}

const UNKNOWN_ROLE = /^unknown role .* read, readWrite, dbAdmin$/;
const ROLES = [
	"root",
	"readwrite",
	"READ",
	"read ",
	"userAdmin",
	"read\r\nroot",
	"read\0",
	"read'\"`",
	"read\u001b[2J",
	"{}",
];
for (const role of ROLES) {
	test(`the role ${JSON.stringify(role)} is unknown, and nothing of it moves a terminal`, async () => {
		await refusedWithoutTrace("generate", { database: "app", role }, "engine_error", UNKNOWN_ROLE);
		const { body } = await world.generate<ErrorBody>("documentdb", { database: "app", role });
		assert.doesNotMatch(body.error.message, /\p{C}/u);
	});
}

const REFUSING = /^refusing to drop a non-managed user\b/;
const NAMES = [
	...["root", "svc", "svc_", "SVC_0123abcd", "svc_0123abc", "svc_0123abcde", "svc_0123ABCD", "svc-0123abcd"],
	...[
		"svc_0123abcd\n",
		"svc_0123abcd\r\n",
		"svc_0123abcd\0",
		" svc_0123abcd",
		"svc_0123abcd'",
		'svc_0123abcd"',
		"svc_%2e",
	],
];
for (const username of NAMES) {
	test(`the user ${JSON.stringify(username)} is not dropped`, () =>
		refusedWithoutTrace("validate", { username }, "engine_error", REFUSING));
}

/** MongoDB's operators are objects. */
const NO_TEXTS = [5, true, { $ne: null }, ["app"]];
for (const value of NO_TEXTS) {
	test(`${JSON.stringify(value)} is no text in any param`, async () => {
		for (const name of ["database", "auth_database", "role"]) {
			const message = new RegExp(`^parsing params: ${name}\\b`);
			await refusedWithoutTrace("generate", { database: "app", [name]: value }, "engine_error", message);
		}
		await refusedWithoutTrace("generate", { database: "app", ttl: value }, "invalid_ttl", /^invalid ttl: /);
		await refusedWithoutTrace("validate", { username: value }, "engine_error", /^parsing params: username\b/);
	});
}

const TTLS = [
	"0s",
	"-1h",
	"1ns",
	"999ms",
	"9999999h",
	"1h 1h",
	"",
	"1d",
	"1e3h",
	"NaN",
	"1h\r\n",
	"1h\0",
	"'1h'",
	"48h",
	"24h1s",
];
for (const ttl of TTLS) {
	test(`the ttl ${JSON.stringify(ttl)} is refused`, async () => {
		const message = /^(?:48h|24h1s)$/.test(ttl) ? new RegExp(`^ttl ${ttl} .* 24h$`) : /^invalid ttl: /;
		await refusedWithoutTrace("generate", { database: "app", ttl }, "invalid_ttl", message);
	});
}

test("a ttl that is left out is the configuration's, and the longest one is its max_ttl", async () => {
	const { slug } = await realm(world.client, world.admin);
	ok(await configure({ default_ttl: "30m", max_ttl: "2h" }, slug));
	const minutes = async (params: object, where: string) => {
		const { expires_at } = ok(await generate({ database: "app", ...params }, where));
		return Math.round((Date.parse(expires_at) - Date.now()) / 60_000);
	};
	assert.deepEqual([await minutes({}, slug), await minutes({ ttl: null }, slug)], [30, 30]);
	assert.equal(await minutes({ ttl: "2h" }, slug), 120);
	const { body } = await world.generate<ErrorBody>("documentdb", { database: "app", ttl: "121m" }, slug);
	assert.match(body.error.message, /^ttl 121m .* 2h$/);
	assert.deepEqual([await minutes({}, world.slug), await minutes({ ttl: "24h" }, world.slug)], [60, 1440]);
});

test("params that are the core's own, or poison, do nothing", async () => {
	const raw = `{"_lease":{"id":"x","name":"svc_99999999"},"__proto__":{"role":"dbAdmin"},"constructor":{"ttl":"1s"},"database":"app"}`;
	const path = `/api/v1/realms/${world.slug}/engines/documentdb/generate`;
	const answer = await world.client.send<Credential>("POST", path, { token: world.admin.token, raw });
	assert.notEqual(ok(answer).username, "svc_99999999");
	const { pwd: _, ...command } = changes().at(-1) ?? {};
	assert.deepEqual(command, {
		createUser: answer.body.username,
		roles: [{ role: "read", db: "app" }],
		mechanisms: ["SCRAM-SHA-256"],
		writeConcern: { w: "majority", wtimeout: 4000 },
		$db: "admin",
	});
});

test("a param of a megabyte is too large, and the next request is answered", async () => {
	for (const name of ["database", "auth_database", "role", "ttl", "more"]) {
		for (const size of [262_144, 1_000_000, 1_048_576])
			refused(await generate({ database: "app", [name]: "x".repeat(size) }), 413, "payload_too_large");
		ok(await generate({ database: "app" }));
	}
});

const CONFIGURATIONS: [fields: object, code: string][] = [
	[{ connection_uri: null }, "missing_field"],
	[{ connection_uri: "" }, "missing_field"],
	[{ connection_uri: "db" }, "validation_failed"],
	[{ connection_uri: 5 }, "validation_failed"],
	[{ database: null }, "missing_field"],
	[{ database: "" }, "missing_field"],
	[{ database: ["app"] }, "validation_failed"],
	[{ auth_database: 5 }, "validation_failed"],
	[{ max_ttl: "1d" }, "invalid_ttl"],
	[{ default_ttl: "soon" }, "invalid_ttl"],
	[{ default_ttl: "2h", max_ttl: "1h" }, "invalid_ttl"],
	[{ max_connections: "5" }, "validation_failed"],
	[{ max_connections: 1.5 }, "validation_failed"],
	[{ allowed_databases: "shop" }, "validation_failed"],
	[{ role_capabilities: { read: "root" } }, "validation_failed"],
	[{ hosts: "db" }, "validation_failed"],
];
for (const [fields, code] of CONFIGURATIONS) {
	test(`a configuration with ${JSON.stringify(fields)} is refused, and the former one stays`, async () => {
		refused(await configure(fields), 400, code);
		ok(await generate({ database: "app" }));
	});
}
