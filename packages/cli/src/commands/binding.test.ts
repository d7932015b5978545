import assert from "node:assert/strict";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const ADD = ["binding", "add", "bob@example.com", "viewer", "--realm", "shop"];
const REMOVE = ["binding", "remove", "bob@example.com", "--realm", "shop"];

test("a role is given and removed by e-mail: the user's id is looked up", async () => {
	await using server = await startService(({ method }) => {
		if (method === "GET") return { body: { id: "u1", email: "bob@example.com" } };
		return { body: { role: "viewer", message: "binding removed" } };
	});
	assert.equal((await run(ADD, { env: server.env })).stdout, "bob@example.com is viewer of shop\n");
	assert.equal((await run(REMOVE, { env: server.env })).stdout, "binding removed\n");
	assert.deepEqual(
		server.requests.map(({ method, url, body }) => [method, url, body]),
		[
			["GET", "/api/v1/users/bob%40example.com", undefined],
			["POST", "/api/v1/realms/shop/policy/bindings", { user_id: "u1", role: "viewer" }],
			["GET", "/api/v1/users/bob%40example.com", undefined],
			["DELETE", "/api/v1/realms/shop/policy/bindings/u1", undefined],
		],
	);
});

test("a realm's admin, who may not look up accounts, gets the advice to give the id", async () => {
	await using server = await startService(() => refusal(403, "forbidden", "only the instance admin can do this"));
	const { code, stderr } = await run(ADD, { env: server.env });
	assert.equal(code, 3);
	assert.match(stderr, /by e-mail\nhint: give the user's id: `svc whoami`/);
	const { error } = JSON.parse((await run([...ADD, "--json"], { env: server.env })).stderr);
	assert.deepEqual([error.code, error.status], ["forbidden", 403]);
	assert.ok(server.requests.every(({ method }) => method === "GET"));
});

test("an e-mail without an account gives nobody a role", async () => {
	await using server = await startService(() => refusal(404, "not_found", "user not found"));
	const { code, stderr } = await run(ADD, { env: server.env });
	assert.deepEqual([code, server.requests.length], [4, 1]);
	assert.match(stderr, /user bob@example\.com not found/);
});
