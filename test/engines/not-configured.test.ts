/* An engine that is not configured where it is called. Design: §8, §13 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { refused } from "../harness/expect.ts";
import { person, realm } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";

test("a call of an engine that is not configured is an event, and no line in the log", async (t) => {
	const server = await startServer();
	t.after(() => server.close());
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	const start = server.stderr().length;
	const ask = (path: string, body: object) =>
		client.post(`/realms/${slug}/engines/keyvalue/${path}`, body, { token: ada.token });
	refused(await ask("generate", { role: "readonly" }), 400, "engine_not_configured");
	refused(await ask("validate", { username: "svc_01234567" }), 400, "engine_not_configured");
	// A refused JWT has a line: when that has arrived, so has every earlier one.
	const jwt = { realm: slug, machine: "nobody", jwt: "a.b.c" };
	refused(await client.post("/auth/jwt", jwt), 401, "invalid_credentials");
	await eventually("the line of the refused JWT", async () => server.stderr().includes('"jwt.refused"'));
	const lines = server.stderr().slice(start).trim().split("\n");
	assert.deepEqual(
		lines.map((line) => JSON.parse(line).event),
		["jwt.refused"],
	);
	const recorded = await events(client, ada, `realm=${slug}&type=engine.error`);
	assert.deepEqual(
		recorded.map(({ data: { engine, method, code } }) => [engine, method, code]),
		["validate", "generate"].map((method) => ["keyvalue", method, "engine_not_configured"]),
	);
});
