import assert from "node:assert/strict";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { type FakeAnswer, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const MANIFEST = ["eso", "manifest", "--realm", "shop", "--all", "--key", "URL", "--generator", "keyvalue:readonly"];

const GONE = refusal(404, "not_found", "machine not found: `svc machine list` shows those of the realm");
const MACHINES = "/api/v1/realms/shop/machines";

/** A server whose realm has this machine, or none. */
const start = (machine: FakeAnswer = GONE) =>
	startService(({ method }) =>
		method === "GET" ? machine : { body: { id: "i", token: "svc_new", expires_at: "2030-01-01T00:00:00Z" } },
	);

test("the YAML is the JSON, one document an object, and holds the token that was made", async () => {
	await using server = await start();
	const yaml = await run(MANIFEST, { env: server.env });
	const { items } = JSON.parse((await run([...MANIFEST, "--json"], { env: server.env })).stdout);
	assert.deepEqual(
		parseAllDocuments(yaml.stdout).map((document) => document.toJS()),
		items,
	);
	assert.equal(items[0].stringData.token, "svc_new");
	assert.equal(items.length, 7);
	const revoke = "svc machine token revoke eso-default-prod i --realm shop";
	assert.match(yaml.stderr, new RegExp(`^token of shop/eso-default-prod .* 2030-01-01T00:00:00Z; \`${revoke}\` .*\n`));
	assert.match(yaml.stderr, / http:\/\/127\.0\.0\.1:\d+: --url\b/);
	const limits = { environment: "prod", engines: ["keyvalue:readonly"] };
	assert.deepEqual(
		server.requests.slice(0, 3).map(({ method, url, body }) => [method, url, body]),
		[
			["GET", `${MACHINES}/eso-default-prod`, undefined],
			[
				"PUT",
				`${MACHINES}/eso-default-prod`,
				{ role: "viewer", scopes: "read", ...limits, description: "External Secrets Operator in default" },
			],
			["POST", `${MACHINES}/eso-default-prod/tokens`, { name: "eso default", ttl: "90d" }],
		],
	);
});

test("the machine is for what the objects ask for: no environment without a secret of it, no role without a generator", async () => {
	await using server = await start();
	for (const args of [
		["--generator", "cache=keyvalue:readonly,ttl=1h", "--generator", "pki:client"],
		["--key", "URL"],
		[],
	])
		await run(["eso", "manifest", "--realm", "shop", ...args], { env: server.env });
	const set = server.requests.filter(({ method }) => method === "PUT");
	const limits = set.map(({ body }) => body as { environment?: string; engines?: string[] });
	assert.deepEqual(
		limits.map(({ environment, engines }) => [environment, engines]),
		[
			[undefined, ["keyvalue:readonly", "pki:client"]],
			["prod", undefined],
			["prod", undefined],
		],
	);
});

test("a credential is made again at half of its ttl, and the names of objects are those that a cluster takes", async () => {
	await using server = await start();
	const generated = async (...args: string[]) => {
		const argv = ["eso", "manifest", "--realm", "shop", "--env", "dev", "--json", "--dry-run", ...args];
		const { items } = JSON.parse((await run(argv, { env: server.env })).stdout);
		return [items[1].metadata.name, items[1].spec.body, items[2].spec.refreshInterval];
	};
	assert.deepEqual(await generated("--generator", "documentdb:readWrite,database=shop"), [
		"shop-dev-documentdb-readwrite",
		'{"database":"shop","role":"readWrite","ttl":"2h"}',
		"60m",
	]);
	assert.deepEqual(await generated("--generator", "cache=keyvalue:readonly,ttl=30m"), [
		"shop-dev-cache-readonly",
		'{"ttl":"30m","role":"readonly"}',
		"15m",
	]);
	assert.deepEqual(await generated("--generator", "keyvalue:readonly,ttl=1d"), [
		"shop-dev-keyvalue-readonly",
		'{"ttl":"24h","role":"readonly"}',
		"720m",
	]);
	assert.deepEqual(server.requests, []);
});

test("a machine that is there is used when its role and limits are these, and never changed", async () => {
	const machine = { role: "member", scopes: "read,write", environment: "prod", engines: ["pki:client", "totp:code"] };
	await using server = await start({ body: machine });
	const words = ["eso", "manifest", "--realm", "shop", "--machine", "cluster", "--expires", "7d"];
	const generators = ["--generator", "totp:code", "--generator", "pki:client", "--generator", "mine=pki:client"];
	const same = await run([...words, "--all", ...generators, "--scopes", "write,read"], server);
	assert.equal(same.code, 0, same.stderr);
	assert.deepEqual(
		server.requests.map(({ method, url }) => `${method} ${url}`),
		[`GET ${MACHINES}/cluster`, `POST ${MACHINES}/cluster/tokens`],
	);
	for (const others of [
		["--all", ...generators],
		[...generators, "--scopes", "read,write"],
		["--all", "--generator", "pki:client", "--scopes", "read,write"],
		["--env", "dev", "--all", ...generators, "--scopes", "read,write"],
	]) {
		const { code, stdout, stderr } = await run([...words, ...others], server);
		assert.deepEqual([code, stdout], [1, ""], others.join(" "));
		assert.match(stderr, /^svc: shop .*\bmachine cluster\b/);
		assert.match(stderr, /`svc machine create cluster --realm shop --role .* --change`/);
	}
	assert.equal(server.requests.filter(({ method }) => method !== "GET").length, 1);
});

test("a life of over 90 days is refused before anything is made", async () => {
	await using server = await start();
	const { code, stderr } = await run(["eso", "manifest", "--realm", "shop", "--expires", "91d"], server);
	assert.equal(code, 2);
	assert.match(stderr, /^svc: --expires .* 90d\n$/);
	assert.deepEqual(server.requests, []);
});
