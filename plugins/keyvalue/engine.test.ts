import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { serveEngine } from "@svc/plugin-sdk";
import { engine } from "./engine.ts";
import descriptor from "./plugin.json" with { type: "json" };

/** Spec: ENGINES › Key-value store engine configuration. */
const RULES: Record<string, string> = {
	readonly: "~* +get +mget +hget +hgetall +lrange +smembers +sismember +zrange +ttl +type +exists +keys +scan +info",
	readwrite:
		"~* +get +set +del +mget +mset +hget +hset +hdel +hgetall +lpush +rpush +lpop +rpop +lrange +sadd +srem +smembers +zadd +zrem +zrange +expire +ttl +type +exists +keys +scan +info",
	admin: "~* +@all",
};

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
	assert.deepEqual([name, version, sdk_version, min_core_version, tier], ["keyvalue", "0.1.0", 1, "0.1.0", "official"]);
	assert.deepEqual(capabilities, [
		...["host:http", "host:store:read", "host:store:write", "host:audit", "engine:dynamic_credentials"],
	]);
	const fields = Object.entries(config_schema.properties).map(([field, schema]) => {
		assert.ok(!("env" in schema), "the engine's process gets none of it");
		return [field, schema.type, "default" in schema ? schema.default : undefined];
	});
	assert.deepEqual(fields, [
		["address", "string", undefined],
		["password", "string", undefined],
		["username", "string", "default"],
		["tls", "boolean", false],
		["database", "integer", 0],
		["max_ttl", "string", "24h"],
		["default_ttl", "string", "1h"],
		["max_connections", "integer", 50],
	]);
	assert.deepEqual(config_schema.required, ["address", "password"]);
	assert.equal(config_schema.properties.password.format, "password");
	const roles = descriptor.default_roles.map(({ name, config }) => [name, config.acl_rules.join(" ")]);
	assert.deepEqual(roles, Object.entries(RULES));
});

test("describe and ping answer without a store", async () => {
	const { display_name, description } = descriptor;
	assert.deepEqual(await ask("describe"), {
		data: { name: "keyvalue", version: "0.1.0", display_name, description, capabilities: ["dynamic_credentials"] },
	});
	assert.deepEqual(await ask("ping"), { data: { status: "healthy" } });
});

for (const [role, rules] of Object.entries(RULES)) {
	test(`generate for ${role} makes a user and the command that gives it exactly the role's rules`, async () => {
		const { data } = await ask("generate", { role, ttl: "90m" });
		assert.deepEqual(Object.keys(data), ["username", "password", "expires_at", "kv_command"]);
		assert.match(data.username, /^svc_[0-9a-f]{8}$/);
		assert.match(data.password, /^[0-9a-f]{24}$/);
		assert.equal(data.kv_command, `ACL SETUSER ${data.username} on >${data.password} ${rules}`);
	});
}

test("the role is readonly when none is named", async () => {
	for (const params of [{}, undefined, { role: null }, { role: "" }]) {
		const { data } = await ask("generate", params);
		assert.ok(data.kv_command.endsWith(` ${RULES.readonly}`));
	}
});

test("the credential ends after the ttl, after an hour when none is named", async () => {
	for (const [ttl, seconds] of [
		["90m", 5400],
		["1h30m", 5400],
		["30s", 30],
		["24h", 86_400],
		[undefined, 3600],
		[null, 3600],
	] as const) {
		const before = Math.floor(Date.now() / 1000);
		const { data } = await ask("generate", { ttl });
		assert.match(data.expires_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
		const lifetime = Date.parse(data.expires_at) / 1000 - before;
		assert.ok(lifetime >= seconds && lifetime <= seconds + 5, `${ttl}: ${lifetime} s`);
	}
});

test("every user is another one", async () => {
	const answers = await Promise.all(Array.from({ length: 50 }, () => ask("generate")));
	assert.equal(new Set(answers.map(({ data }) => data.username)).size, 50);
	assert.equal(new Set(answers.map(({ data }) => data.password)).size, 50);
});

test("validate answers with the command that deletes the user", async () => {
	assert.deepEqual(await ask("validate", { username: "svc_0123abcd" }), {
		data: {
			valid: true,
			message: "credentials revoked: user svc_0123abcd deleted",
			kv_command: "ACL DELUSER svc_0123abcd",
		},
	});
});

test("params that the engine does not know are ignored", async () => {
	const _lease = { id: "1", name: "svc_ffffffff" };
	const { data } = await ask("generate", { _lease, database: 3, ["__proto__"]: { role: "admin" } });
	assert.ok(data.username !== _lease.name && data.kv_command.endsWith(` ${RULES.readonly}`));
	assert.equal((await ask("validate", { username: "svc_0123abcd", _lease })).data.valid, true);
});

const REFUSING = "refusing to delete a non-managed user: ";
const NOT_MANAGED = [
	...["default", "svc", "SVC_0123abcd", " svc_0123abcd", "svc-0123abcd", "svc_", "svc_0123abc", "svc_0123abcde"],
	...["svc_0123ABCD", "svc_0123abcg", "svc_0123abcd\n", "svc_0123abcd default"],
];

const REFUSED: [method: string, params: unknown, begin: string][] = [
	["generate", { role: "root" }, "unknown role root: "],
	["generate", { role: "Admin" }, "unknown role Admin: "],
	["generate", { role: " " }, "unknown role  : "],
	["generate", { role: "__proto__" }, "unknown role __proto__: "],
	["generate", { role: "a\nb\u001b[0m" }, `unknown role a\\u{a}b\\u{1b}[0m: `],
	["generate", { role: "x".repeat(10_000) }, `unknown role ${"x".repeat(64)}…: `],
	["generate", { role: 5 }, "parsing params: role "],
	["generate", { role: ["admin"] }, "parsing params: role "],
	["generate", { ttl: "" }, "invalid ttl: "],
	["generate", { ttl: "1d" }, "invalid ttl: "],
	["generate", { ttl: "3600" }, "invalid ttl: "],
	["generate", { ttl: "0s" }, "invalid ttl: "],
	["generate", { ttl: 3600 }, "parsing params: ttl "],
	["validate", {}, "username is required"],
	["validate", { username: "" }, "username is required"],
	["validate", { username: null }, "username is required"],
	["validate", { username: 5 }, "parsing params: username "],
	...NOT_MANAGED.map((username): [string, unknown, string] => ["validate", { username }, REFUSING]),
	["list", {}, "engine does not support listing"],
	["fly", {}, "unknown method: "],
	["generate", [], "parsing params: params "],
	["generate", null, "parsing params: params "],
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
