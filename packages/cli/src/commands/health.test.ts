import assert from "node:assert/strict";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const HEALTH = {
	version: "1",
	commit: "c",
	built: "b",
	mode: "standalone",
	checks: { database: "healthy", encryption: "healthy" },
};

test("health needs no login and ends with 5 when the server is not well", async () => {
	await using server = await startService(({ headers }) =>
		headers.authorization === undefined
			? { body: { ...HEALTH, status: "healthy" } }
			: refusal(400, "x", "a token was sent"),
	);
	assert.match((await run(["health"], { env: server.env })).stdout, /^status +healthy$/m);
	const sick = { ...HEALTH, status: "unhealthy", checks: { database: "unhealthy", encryption: "healthy" } };
	await using other = await startService(() => ({ status: 503, body: sick }));
	const { code, stdout } = await run(["health", "--json"], { env: other.env });
	assert.equal(code, 5);
	assert.deepEqual(JSON.parse(stdout), sick);
});
