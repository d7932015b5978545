import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

test("a realm is deleted on a terminal only after a yes", async () => {
	await using server = await startService(() => ({ body: { message: "realm deleted" } }));
	assert.equal((await run(["realm", "delete", "shop"], { env: server.env, typed: ["\n"] })).code, 1);
	assert.deepEqual(server.requests, []);
	assert.equal((await run(["realm", "delete", "shop"], { env: server.env, typed: ["y\n"] })).code, 0);
	assert.equal(server.requests.length, 1);
});

test("only the fields of a realm that are given are sent", async () => {
	await using server = await startService(() => ({ body: { slug: "shop", name: "Shop" } }));
	const { env } = server;
	const { stdout } = await run(["realm", "edit", "shop", "--name", "Shop", "--description", ""], { env });
	assert.match(stdout, /^realm shop\b/);
	await run(["realm", "edit", "shop", "--description", "text"], { env });
	assert.deepEqual(
		server.requests.map(({ method, url, body }) => [method, url, body]),
		[
			["PUT", "/api/v1/realms/shop", { name: "Shop", description: "" }],
			["PUT", "/api/v1/realms/shop", { description: "text" }],
		],
	);
});

test("--to names the new owner of a realm", async () => {
	await using server = await startService(() => ({ body: { slug: "shop", name: "Shop" } }));
	const words = ["realm", "transfer", "shop", "--to", "ada@example.com", "--yes"];
	assert.match((await run(words, { env: server.env })).stdout, /^ada@example\.com .*\brealm shop\n$/);
	assert.deepEqual(server.requests[0]?.body, { owner: "ada@example.com" });
	assert.equal((await run(["realm", "transfer", "shop", "--yes"], { env: server.env })).code, 2);
});

test("leaving a realm asks first", async () => {
	await using server = await startService(() => ({ body: { message: "binding removed" } }));
	const { env } = server;
	assert.equal((await run(["realm", "leave", "shop"], { env, typed: ["n\n"] })).code, 1);
	assert.match((await run(["realm", "leave", "shop", "--yes"], { env })).stdout, /\brealm shop\n$/);
	assert.deepEqual(
		server.requests.map(({ method, url }) => [method, url]),
		[["POST", "/api/v1/realms/shop/leave"]],
	);
});
