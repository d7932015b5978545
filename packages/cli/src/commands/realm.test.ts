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
