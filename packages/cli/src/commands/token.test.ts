import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
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
