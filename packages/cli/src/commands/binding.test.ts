import assert from "node:assert/strict";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const BOB = { user_id: "u1", role: "viewer", granted_by: "a", created_at: "t", email: "bob@example.com", name: "Bob" };
const ADD = ["binding", "add", "bob@example.com", "viewer", "--realm", "shop"];

test("a role is given by e-mail, and changed and removed by the e-mail of a user who has one", async () => {
	await using server = await startService(({ method }) =>
		method === "GET" ? page("bindings", [BOB]) : { body: { role: "viewer", message: "binding removed" } },
	);
	const binding = async (words: string) =>
		(await run(["binding", ...words.split(" "), "--realm", "shop"], { env: server.env })).stdout;
	assert.match(await binding("add bob@example.com viewer"), /^bob@example\.com .*\bviewer of shop\n$/);
	assert.match(await binding("set Bob@example.com viewer"), /^Bob@example\.com .*\bviewer of shop\n$/);
	await binding("remove bob@example.com");
	const bindings = "/api/v1/realms/shop/policy/bindings";
	assert.deepEqual(
		server.requests.map(({ method, url, body }) => [method, url, body]),
		[
			["POST", bindings, { email: "bob@example.com", role: "viewer" }],
			["GET", `${bindings}?names=true&limit=100`, undefined],
			["PUT", `${bindings}/u1`, { role: "viewer" }],
			["GET", `${bindings}?names=true&limit=100`, undefined],
			["DELETE", `${bindings}/u1`, undefined],
		],
	);
});

test("an e-mail without a role there is not found, and one that is near is suggested", async () => {
	await using server = await startService(() => page("bindings", [BOB]));
	const words = ["binding", "set", "bop@example.com", "viewer", "--realm", "shop"];
	const { code, stderr } = await run(words, { env: server.env });
	assert.equal(code, 4);
	assert.match(stderr, /binding bop@example\.com .*\bshop\nhint: .* bob@example\.com\?/);
});

test("an e-mail without an account gives nobody a role", async () => {
	await using server = await startService(() => refusal(404, "not_found", "user not found"));
	const { code, stderr } = await run(ADD, { env: server.env });
	assert.deepEqual([code, server.requests.length], [4, 1]);
	assert.match(stderr, /\buser\b/);
});
