import assert from "node:assert/strict";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

test("a new token is alone on stdout, and its limits are sent only when given", async () => {
	await using server = await startService(() => ({
		status: 201,
		body: { token: "svc_new", id: "i", name: "ci", prefix: "svc_", scopes: "read" },
	}));
	const env = { ...server.env, SVC_REALM: "elsewhere", SVC_ENV: "prod" };
	assert.equal((await run(["token", "create", "ci"], { env })).stdout, "svc_new\n");
	await run(
		[
			"token",
			"create",
			"ci",
			"--scopes",
			"read,write",
			"--realm",
			"shop",
			"--env",
			"dev",
			"--expires-at",
			"2030-01-01T00:00:00Z",
		],
		{ env },
	);
	assert.deepEqual(
		server.requests.map(({ body }) => body),
		[
			{ name: "ci" },
			{ name: "ci", scopes: "read,write", realm: "shop", environment: "dev", expires_at: "2030-01-01T00:00:00Z" },
		],
	);
});

test("a backup token is requested without scopes and listed with its purpose", async () => {
	const token = { id: "i", name: "nightly", prefix: "svc_", scopes: "", created_at: "2030-01-01T00:00:00Z" };
	const tokens = [{ ...token, purpose: "backup" }];
	await using server = await startService(({ method }) =>
		method === "POST" ? { status: 201, body: { ...token, token: "svc_new" } } : page("tokens", tokens),
	);
	const { env } = server;
	const { stderr } = await run(["token", "create", "nightly", "--purpose", "backup"], { env });
	assert.match(stderr, /^token nightly .*\bid i\b/);
	assert.deepEqual(server.requests[0]?.body, { name: "nightly", purpose: "backup" });
	assert.match((await run(["token", "list"], { env })).stdout, /CREATED +PURPOSE\n.* backup\n/);
	for (const more of [
		["--scopes", "read"],
		["--realm", "shop"],
		["--env", "dev"],
		["--engine", "totp"],
	])
		assert.equal((await run(["token", "create", "nightly", "--purpose", "backup", ...more], { env })).code, 2);
	assert.equal((await run(["token", "create", "nightly", "--purpose", "restore"], { env })).code, 2);
	assert.equal(server.requests.length, 2);
});

test("roles of engines are sent as a list, and shown in a column of their own", async () => {
	const token = {
		id: "i",
		name: "ci",
		prefix: "svc_",
		scopes: "read",
		created_at: "2030-01-01T00:00:00Z",
		token: "svc_new",
	};
	const engines = ["keyvalue:readonly", "pki:client"];
	const tokens = [{ ...token, engines }, token];
	await using server = await startService(({ method }) =>
		method === "POST"
			? { status: 201, body: token }
			: { status: 200, body: { tokens, pagination: { has_more: false } } },
	);
	const flags = engines.flatMap((role) => ["--engine", role]);
	await run(["token", "create", "ci", "--realm", "shop", ...flags], { env: server.env });
	assert.deepEqual(server.requests[0]?.body, { name: "ci", realm: "shop", engines });
	const { stdout } = await run(["token", "list"], { env: server.env });
	assert.match(stdout, /CREATED +ENGINES\n.* keyvalue:readonly,pki:client\n/);
});

const REACHES: readonly (readonly [options: string, reach: string])[] = [
	["", "every environment of every realm"],
	["--realm shop", "every environment of shop"],
	["--env prod", "prod of every realm"],
	["--realm shop --env prod", "prod of shop"],
	["--realm shop --engine pki:client", "pki:client of shop"],
	["--realm shop --env dev --engine pki:client", "dev and pki:client of shop"],
];

for (const [options, reach] of REACHES) {
	test(`svc token create ci ${options} says that the token is valid for ${reach}`, async () => {
		const body = { token: "svc_new", id: "i", name: "ci", scopes: "read,write" };
		await using server = await startService(() => ({ status: 201, body }));
		const { stderr } = await run(`token create ci ${options}`.trim().split(" "), { env: server.env });
		assert.ok(stderr.startsWith(`token ci (read,write; ${reach}) `), stderr);
	});
}

test("a token is revoked by its name, unless several have it", async () => {
	const tokens = ["ci", "deploy", "deploy"].map((name, index) => ({ name, id: `i${index}`, prefix: `svc_x${index}` }));
	await using server = await startService(({ method }) =>
		method === "GET" ? page("tokens", tokens) : { body: { message: "token revoked" } },
	);
	const revoke = async (name: string) => await run(["token", "revoke", name], { env: server.env });
	assert.equal((await revoke("ci")).code, 0);
	const several = await revoke("deploy");
	assert.deepEqual([several.code, /i1, i2/.test(several.stderr)], [2, true], several.stderr);
	const absent = await revoke("cii");
	assert.deepEqual([absent.code, /token cii .*\nhint: .* ci\?/.test(absent.stderr)], [4, true]);
	const secret = "svc_0123456789abcdef";
	assert.doesNotMatch((await revoke(secret)).stderr, new RegExp(secret));
	assert.deepEqual(
		server.requests.filter(({ method }) => method !== "GET").map(({ method, url }) => [method, url]),
		[["DELETE", "/api/v1/auth/tokens/i0"]],
	);
});

test("a token ends after its --ttl, which --expires-at excludes", async () => {
	await using server = await startService(() => ({ status: 201, body: { token: "svc_new", id: "i", scopes: "read" } }));
	const before = Date.now();
	const { stderr } = await run(["token", "create", "ci", "--ttl", "7d"], { env: server.env });
	assert.match(stderr, /\b\d{4}-\S+Z\b/m);
	const { expires_at } = (server.requests[0]?.body ?? {}) as { expires_at: string };
	const lived_ms = Date.parse(expires_at) - before - 7 * 86_400_000;
	assert.ok(lived_ms >= 0 && lived_ms < 60_000, expires_at);
	const both = ["token", "create", "ci", "--ttl", "7d", "--expires-at", "2030-01-01T00:00:00Z"];
	for (const words of [both, ["token", "create", "ci", "--ttl", "soon"]])
		assert.equal((await run(words, { env: server.env })).code, 2);
	assert.equal(server.requests.length, 1);
});

test("a token is revoked by its name, by its prefix, or by itself from standard input", async () => {
	const known = { scopes: "read", created_at: "2030-01-01T00:00:00Z" };
	const tokens = [
		{ ...known, id: "one", name: "ci", prefix: "svc_aaaaaaaa" },
		{ ...known, id: "two", name: "ci-2", prefix: "svc_bbbbbbbb" },
	];
	await using server = await startService(({ method }) => ({
		body: method === "DELETE" ? { message: "token revoked" } : { tokens, pagination: { has_more: false } },
	}));
	const { env } = server;
	await run(["token", "revoke", "ci"], { env });
	await run(["token", "revoke", "svc_bbbbbbbb"], { env });
	await run(["token", "revoke", "-"], { env, stdin: "svc_aaaaaaaa_the_rest\n" });
	const deleted = server.requests.filter(({ method }) => method === "DELETE").map(({ url }) => url.split("/").at(-1));
	assert.deepEqual(deleted, ["one", "two", "one"]);
	const { code, stderr } = await run(["token", "revoke", "-"], { env, stdin: "svc_cccccccc_the_rest\n" });
	assert.equal(code, 4);
	assert.doesNotMatch(stderr, /cccc/);
	assert.equal((await run(["token", "revoke", "-"], { env, stdin: "\n" })).code, 2);
});
