import assert from "node:assert/strict";
import { test } from "node:test";
import { startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

interface Check {
	readonly name: string;
	readonly status: string;
	readonly message: string;
}

test("an orchestrator that hangs fails its check after ten seconds and delays no other check", async (t) => {
	const world = await startEngineWorld();
	t.after(() => world.close());
	const fake = await startFakeOrchestrator();
	t.after(() => fake.stop());
	const fields = { api_server: fake.url, bearer_token: fake.token, ca_cert: fake.ca, allowed_namespaces: ["apps"] };
	ok(await world.configure("containerorch", fields));
	fake.fault("review", { does: "hang" });
	const { checks } = ok(await world.client.get<{ checks: Check[] }>("/doctor", { token: world.admin.token }));
	const hung = checks.filter(({ name }) => name === "containerorch");
	assert.equal(hung.length, 1);
	assert.match(`${hung[0]?.status} ${hung[0]?.message}`, /^failed .* 10 s$/);
	assert.ok(checks.some(({ name, status }) => name === "database" && status === "ok"));
	assert.ok(!JSON.stringify(checks).includes(fake.token));
});
