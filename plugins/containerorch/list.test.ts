import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNTS, startBench } from "./testing.ts";

test("list names the managed accounts of the namespace, however labelled, over all pages", async (t) => {
	const { fake, generate, list } = await startBench(t);
	const add = (name: string, namespace = "default") =>
		fake.objects.set(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}`, { metadata: { name } });
	assert.deepEqual(await list({}), { names: [] });
	for (const name of ["default", "svc-", "svc-0123456", "svc-012345678", "svc_01234567"]) add(name);
	add("svc-99999999", "other");
	const { service_account } = await generate({ role: "viewer" });
	const names = Array.from({ length: 600 }, (_, index) => `svc-${index.toString(16).padStart(8, "0")}`);
	for (const name of names) add(name);
	fake.steps();
	assert.deepEqual(await list({ namespace: "default" }), { names: [service_account, ...names] });
	assert.deepEqual(fake.steps(), ["read", "read", "read"]);
	assert.deepEqual(await list({ namespace: "other" }), { names: ["svc-99999999"] });
});

test("a token that may not list names says that it does not know", async (t) => {
	const { fake, list } = await startBench(t);
	fake.fault("read", { does: "answer", status: 403 });
	assert.deepEqual(await list({}), { names: null });
});

test("a list that is not whole is none", async (t) => {
	const { fake, generate, list } = await startBench(t);
	await generate({ role: "viewer" });
	const failed = (message: RegExp) => assert.rejects(list({}), { name: "EngineError", message });
	fake.fault("read", { does: "answer", status: 410, body: "expired" });
	await failed(/ GET \S+\/serviceaccounts\?limit=250: status 410: expired$/);
	for (const body of ["", "{}", "[]", "null", '{"items":{}}', '{"items":[{"met']) {
		fake.fault("read", { does: "answer", status: 200, body });
		await failed(/ GET \S+\/serviceaccounts: .*\bno list\b/);
	}
	fake.fault("read", { does: "answer", status: 200, body: { items: [], metadata: { continue: "for ever" } } });
	await failed(/\bno end$/);
	fake.fault("read", { does: "break" });
	await failed(/\(UND_ERR_SOCKET\)$/);
	fake.fault("read", { does: "answer", status: 200, body: { items: [null, 5, { metadata: { name: 5 } }, {}] } });
	assert.deepEqual(await list({}), { names: [] });
	await assert.rejects(list({ namespace: "a/b" }), { name: "ParamsError" });
	assert.equal(fake.calls.at(-1)?.path, `${ACCOUNTS}?limit=250`);
});
