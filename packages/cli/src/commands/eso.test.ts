import assert from "node:assert/strict";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const MANIFEST = ["eso", "manifest", "--realm", "shop", "--all", "--key", "URL", "--generator", "keyvalue:readonly"];

const start = () => startService(() => ({ status: 201, body: { id: "i", token: "svc_new", scopes: "read" } }));

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
	assert.match(yaml.stderr, /^token eso default shop\/prod ends at \S+; `svc token revoke i` ends it earlier\n/);
	assert.match(yaml.stderr, /note: a cluster does not reach http:\/\/127\.0\.0\.1:\d+: --url names/);
	const { expires_at, ...rest } = (server.requests[0]?.body ?? {}) as { expires_at?: string };
	const limits = { realm: "shop", environment: "prod", engines: ["keyvalue:readonly"] };
	assert.deepEqual(rest, { name: "eso default shop/prod", scopes: "read", ...limits });
	assert.match(expires_at ?? "", /Z$/);
});

test("the token is for what the objects ask for: no environment without a secret of it, no role without a generator", async () => {
	await using server = await start();
	for (const args of [
		["--generator", "cache=keyvalue:readonly,ttl=1h", "--generator", "pki:client"],
		["--key", "URL"],
		[],
	])
		await run(["eso", "manifest", "--realm", "shop", ...args], { env: server.env });
	const limits = server.requests.map(({ body }) => body as { environment?: string; engines?: string[] });
	assert.deepEqual(
		limits.map(({ environment, engines }) => [environment, engines]),
		[
			[undefined, ["keyvalue:readonly", "pki:client"]],
			["prod", undefined],
			["prod", undefined],
		],
	);
});

test("a credential is made anew at half of its ttl, and the names of objects are those that a cluster takes", async () => {
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
	assert.deepEqual(server.requests, []);
});
