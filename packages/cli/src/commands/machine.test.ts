import assert from "node:assert/strict";
import test from "node:test";
import { type FakeAnswer, page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const MACHINE = {
	id: "i",
	name: "deploy",
	role: "viewer",
	scopes: "read",
	environment: "prod",
	engines: null,
	description: "",
	created_by: "u",
	created_at: "t",
};
const GONE = refusal(404, "not_found", "machine not found: `svc machine list` shows those of the realm");

/** A server whose realm has the machine or not, and which sets any. */
const realm = (found: FakeAnswer) =>
	startService(({ method, body }) => (method === "GET" ? found : { body: { ...MACHINE, ...(body as object) } }));

test("a new machine has the least unless more is given, and svc says how far it reaches", async () => {
	await using server = await realm(GONE);
	const create = async (more: string) =>
		await run(`machine create deploy --realm shop ${more}`.trim().split(" "), server);
	const least = await create("--env prod");
	assert.match(least.stdout, /^machine deploy .*\bviewer of shop \(read; prod\)\n$/);
	assert.match(least.stderr, /^`svc machine token create deploy --realm shop --ttl 90d` .*`svc machine trust add` /);
	const limited = await create(
		"--role member --scopes read,write --engine pki:client --engine totp:code --description ci",
	);
	assert.match(limited.stdout, /\bmember of shop \(read,write; prod and pki:client,totp:code\)\n$/);
	assert.deepEqual(
		server.requests.filter(({ method }) => method !== "GET").map(({ method, url, body }) => [method, url, body]),
		[
			["PUT", "/api/v1/realms/shop/machines/deploy", { role: "viewer", scopes: "read", environment: "prod" }],
			[
				"PUT",
				"/api/v1/realms/shop/machines/deploy",
				{ role: "member", scopes: "read,write", engines: ["pki:client", "totp:code"], description: "ci" },
			],
		],
	);
});

test("a machine that is there is changed with --change only", async () => {
	await using server = await realm({ body: MACHINE });
	const words = ["machine", "create", "deploy", "--realm", "shop", "--role", "admin"];
	const refused = await run(words, server);
	assert.deepEqual([refused.code, server.requests.map(({ method }) => method)], [1, ["GET"]]);
	assert.match(refused.stderr, /^svc: shop .*\nhint: --change /);
	const changed = await run([...words, "--change"], server);
	assert.match(changed.stdout, /\badmin of shop \(read; prod\)\n$/);
	assert.equal(changed.stderr, "");
	assert.equal(server.requests.at(-1)?.method, "PUT");
});

test("where svc may not see whether a machine is there, it makes none", async () => {
	await using server = await realm(refusal(403, "forbidden", "your role is viewer"));
	const { code } = await run(["machine", "create", "deploy", "--realm", "shop"], server);
	assert.deepEqual([code, server.requests.length], [3, 1]);
});

test("the words of a machine's limits tell environments from engines", async () => {
	const rows = [
		{ ...MACHINE, created_by_email: "ada@example.com" },
		{ ...MACHINE, name: "all", environment: null },
		{ ...MACHINE, name: "cache", environment: null, engines: ["keyvalue:readonly"], description: "the cache" },
	];
	await using server = await startService(() => page("machines", rows));
	const { stdout } = await run(["machine", "list", "--realm", "shop"], server);
	const cells = stdout.split("\n").map((line) => line.split(/ {2,}/));
	assert.deepEqual(cells.slice(0, 4), [
		["NAME", "ROLE", "SCOPES", "REACHES", "CREATED", "MADE BY", "DESCRIPTION"],
		["deploy", "viewer", "read", "prod", "t", "ada@example.com"],
		["all", "viewer", "read", "every environment", "t", "u"],
		["cache", "viewer", "read", "keyvalue:readonly", "t", "u", "the cache"],
	]);
});

test("a new token of a machine is alone on stdout, with its end on stderr", async () => {
	const body = { token: "svc_new", id: "i", expires_at: "e" };
	await using server = await startService(() => ({ status: 201, body }));
	const words = ["machine", "token", "create", "deploy", "--realm", "shop"];
	assert.equal((await run(words, server)).code, 2, "--ttl is missing");
	const { stdout, stderr } = await run([...words, "--ttl", "90d"], server);
	assert.equal(stdout, "svc_new\n");
	assert.match(stderr, /^token of shop\/deploy .*\bi\b.*\be\b/);
	await run([...words, "--ttl", "1h", "--name", "release"], server);
	assert.deepEqual(
		server.requests.map(({ url, body: sent }) => [url, sent]),
		[{ ttl: "90d" }, { ttl: "1h", name: "release" }].map((sent) => [
			"/api/v1/realms/shop/machines/deploy/tokens",
			sent,
		]),
	);
});

test("a machine's token is revoked by its name, its prefix, or itself from standard input", async () => {
	const tokens = ["", "release", "nightly", "nightly"].map((name, at) => ({
		name,
		id: `i${at}`,
		prefix: `svc_aaaa${at}`,
	}));
	await using server = await startService(({ method }) =>
		method === "GET" ? page("tokens", tokens) : { body: { message: "token revoked" } },
	);
	const revoke = async (word: string, stdin = "") =>
		await run(["machine", "token", "revoke", "deploy", word, "--realm", "shop"], { env: server.env, stdin });
	assert.equal((await revoke("release")).code, 0);
	await revoke("svc_aaaa0");
	await revoke("-", "svc_aaaa2_the_rest\n");
	const several = await revoke("nightly");
	assert.deepEqual([several.code, /^svc: 2 .*\btokens\b/.test(several.stderr)], [2, true]);
	const absent = await revoke("releas");
	assert.match(absent.stderr, /^svc: token releas .*\nhint: .* release\? `svc machine token list` /);
	assert.equal((await revoke("")).code, 4, "a token without a name is not the one of no name");
	assert.deepEqual(
		server.requests.filter(({ method }) => method === "DELETE").map(({ url }) => url),
		["i1", "i0", "i2"].map((id) => `/api/v1/realms/shop/machines/deploy/tokens/${id}`),
	);
});
