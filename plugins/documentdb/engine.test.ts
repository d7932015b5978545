import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { serveEngine } from "@svc/plugin-sdk";
import { engine } from "./engine.ts";
import descriptor from "./plugin.json" with { type: "json" };

/** Spec: ENGINES › Document database engine configuration. */
const ROLES = ["read", "readWrite", "dbAdmin"];

/** The engine's response to one line. */
async function send(line: string) {
	let response = "";
	const stdin = Readable.from([Buffer.from(`${line}\n`)]);
	await serveEngine(engine, { stdin, stdout: { write: (text) => (response += text) } });
	return JSON.parse(response);
}

const ask = (method: string, params?: unknown) => send(JSON.stringify({ method, params }));

test("the descriptor has the fields and values of the specification", () => {
	const { name, version, sdk_version, min_core_version, tier, capabilities, config_schema } = descriptor;
	assert.deepEqual(
		[name, version, sdk_version, min_core_version, tier],
		["documentdb", "0.1.0", 1, "0.1.0", "official"],
	);
	assert.deepEqual(capabilities, [
		...["host:http", "host:store:read", "host:store:write", "host:audit", "engine:dynamic_credentials"],
	]);
	const fields = Object.entries(config_schema.properties).map(([field, schema]) => {
		assert.ok(!("env" in schema), "the engine's process gets none of it");
		return [field, schema.type, "default" in schema ? schema.default : undefined];
	});
	assert.deepEqual(fields, [
		["connection_uri", "string", undefined],
		["database", "string", undefined],
		["auth_database", "string", "admin"],
		["max_ttl", "string", "24h"],
		["default_ttl", "string", "1h"],
		["max_connections", "integer", 50],
	]);
	assert.deepEqual(config_schema.required, ["connection_uri", "database"]);
	assert.equal(config_schema.properties.connection_uri.format, "password");
	const roles = descriptor.default_roles.map(({ name, config }) => [name, config.mongodb_role]);
	assert.deepEqual(
		roles,
		ROLES.map((role) => [role, role]),
	);
});

test("describe and ping answer without a database", async () => {
	const { display_name, description } = descriptor;
	assert.deepEqual(await ask("describe"), {
		data: { name: "documentdb", version: "0.1.0", display_name, description, capabilities: ["dynamic_credentials"] },
	});
	assert.deepEqual(await ask("ping"), { data: { status: "healthy" } });
});

for (const role of ROLES) {
	test(`generate for ${role} makes a user and the command that grants the role on the database, and nothing else`, async () => {
		const { data } = await ask("generate", { role, database: "shop", auth_database: "users", ttl: "90m" });
		const { username, password, expires_at, ...rest } = data;
		assert.match(username, /^svc_[0-9a-f]{8}$/);
		assert.match(password, /^[0-9a-f]{24}$/);
		assert.match(expires_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
		assert.deepEqual(rest, {
			database: "shop",
			auth_database: "users",
			doc_command: {
				createUser: username,
				pwd: password,
				roles: [{ role, db: "shop" }],
				mechanisms: ["SCRAM-SHA-256"],
			},
		});
	});
}

test("role, ttl and auth_database are read, 1h and admin when they are left out", async () => {
	for (const left of [{}, { role: null, ttl: null, auth_database: null }, { role: "", auth_database: "" }]) {
		const before = Math.floor(Date.now() / 1000);
		const { data } = await ask("generate", { database: "shop", ...left });
		assert.deepEqual([data.doc_command.roles, data.auth_database], [[{ role: "read", db: "shop" }], "admin"]);
		const lifetime = Date.parse(data.expires_at) / 1000 - before;
		assert.ok(lifetime >= 3600 && lifetime <= 3605);
	}
});

test("every user is another one", async () => {
	const answers = await Promise.all(Array.from({ length: 50 }, () => ask("generate", { database: "shop" })));
	assert.equal(new Set(answers.map(({ data }) => data.username)).size, 50);
	assert.equal(new Set(answers.map(({ data }) => data.password)).size, 50);
});

test("validate answers with the command that drops the user", async () => {
	for (const place of [{}, { auth_database: "users" }, { auth_database: null }]) {
		assert.deepEqual(await ask("validate", { username: "svc_0123abcd", ...place }), {
			data: {
				valid: true,
				message: "credentials revoked: user svc_0123abcd dropped",
				doc_command: { dropUser: "svc_0123abcd" },
			},
		});
	}
});

test("params that the engine does not know are ignored", async () => {
	const _lease = { id: "1", name: "svc_ffffffff" };
	const { data } = await ask("generate", { database: "shop", _lease, ["__proto__"]: { role: "dbAdmin" } });
	assert.ok(data.username !== _lease.name && data.doc_command.roles[0].role === "read");
	assert.equal((await ask("validate", { username: "svc_0123abcd", _lease })).data.valid, true);
});

const REFUSING = "refusing to drop a non-managed user: ";
const NOT_MANAGED = [
	"root",
	"svc",
	"SVC_0123abcd",
	"svc_",
	"svc_0123abc",
	"svc_0123abcde",
	"svc_0123ABCD",
	"svc_0123abcd\n",
];
const database = "shop";

const REFUSED: [method: string, params: unknown, begin: string][] = [
	["generate", {}, "database is required"],
	["generate", { database: "" }, "database is required"],
	["generate", { database: null }, "database is required"],
	["generate", { database: 5 }, "parsing params: database "],
	["generate", { database, role: "root" }, "unknown role root: "],
	["generate", { database, role: "readwrite" }, "unknown role readwrite: "],
	["generate", { database, role: "\u202eroot" }, `unknown role \\u{202e}root: `],
	["generate", { database, role: {} }, "parsing params: role "],
	["generate", { database, ttl: "" }, "invalid ttl: "],
	["generate", { database, ttl: "1d" }, "invalid ttl: "],
	["generate", { database, ttl: 3600 }, "parsing params: ttl "],
	["generate", { database, auth_database: 5 }, "parsing params: auth_database "],
	["validate", {}, "username is required"],
	["validate", { username: "" }, "username is required"],
	["validate", { username: true }, "parsing params: username "],
	["validate", { username: "svc_0123abcd", auth_database: 5 }, "parsing params: auth_database "],
	...NOT_MANAGED.map((username): [string, unknown, string] => ["validate", { username }, REFUSING]),
	["list", {}, "engine does not support listing"],
	["fly", {}, "unknown method: "],
	["generate", "shop", "parsing params: params "],
];
for (const [method, params, begin] of REFUSED) {
	test(`${method} with ${JSON.stringify(params).slice(0, 60)} is refused`, async () => {
		const { error, ...others } = await ask(method, params);
		assert.ok(error.startsWith(begin), error);
		assert.deepEqual(others, {});
	});
}

test("anything that is not JSON is refused", async () => {
	for (const line of ["", "ping", '{"method":"generate","params":{', '{"method":"ping","method":"generate"}']) {
		assert.match((await send(line)).error, /^parsing params: the request /);
	}
});
