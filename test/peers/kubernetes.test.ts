import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "./kubernetes.ts";
import { apiClient } from "./kubernetes-api.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "./kubernetes-fake.ts";

const CORE = "/api/v1/namespaces/default";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

const options = { skip: skipWithoutKubernetes };
let kubernetes: Kubernetes;

before(async () => {
	if (skipWithoutKubernetes === false) kubernetes = await startKubernetes();
});
after(async () => {
	if (skipWithoutKubernetes === false) await kubernetes.stop();
});

test("only somebody who has a token gets in, and the roles of every cluster have their rules", options, async () => {
	const { request } = kubernetes;
	assert.equal((await request("GET", CORE)).status, 200);
	assert.equal((await request("GET", CORE, undefined, "nonsense")).status, 401);
	for (const role of ["view", "edit", "admin", "cluster-admin"]) {
		const { body } = await request("GET", `${RBAC}/clusterroles/${role}`);
		assert.ok((body.rules as object[]).length > 0, role);
	}
});

test("a restricted token may do what its rules say, where they say it", options, async () => {
	await kubernetes.namespace("elsewhere");
	const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }];
	const token = await kubernetes.restrictedToken(rules, ["default"]);
	const status = async (path: string) => (await kubernetes.request("GET", path, undefined, token)).status;
	assert.equal(await status(`${CORE}/pods`), 200);
	assert.equal(await status(`${CORE}/secrets`), 403);
	assert.equal(await status("/api/v1/namespaces/elsewhere/pods"), 403);
	const everywhere = await kubernetes.restrictedToken(rules);
	assert.equal((await kubernetes.request("GET", "/api/v1/pods", undefined, everywhere)).status, 200);
});

test("it ends and leaves no folder", options, async () => {
	const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("svc-kubernetes-"));
	const before = new Set(await folders());
	const other = await startKubernetes();
	const own = (await folders()).filter((name) => !before.has(name));
	await other.stop();
	const left = new Set(await folders());
	assert.ok(own.length > 0);
	assert.ok(own.some((name) => !left.has(name)));
	await assert.rejects(other.request("GET", CORE), { code: "ECONNREFUSED" });
});

/** The calls in a credential's life, and some that fail. */
const CALLS: [method: string, path: string, body?: object][] = [
	["GET", CORE],
	["POST", `${CORE}/serviceaccounts`, { metadata: { name: "svc-00000001", labels: { a: "b" } } }],
	["POST", `${CORE}/serviceaccounts`, { metadata: { name: "svc-00000001" } }],
	["GET", `${CORE}/serviceaccounts?limit=250`],
	[
		"POST",
		`${RBAC}/namespaces/default/rolebindings`,
		{
			metadata: { name: "svc-00000001-viewer" },
			roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
			subjects: [{ kind: "ServiceAccount", name: "svc-00000001", namespace: "default" }],
		},
	],
	["POST", `${CORE}/serviceaccounts/svc-00000001/token`, { spec: { expirationSeconds: 599 } }],
	["POST", `${CORE}/serviceaccounts/svc-00000001/token`, { spec: { expirationSeconds: 600 } }],
	["POST", `${CORE}/serviceaccounts/svc-00000002/token`, { spec: { expirationSeconds: 600 } }],
	["DELETE", `${RBAC}/namespaces/default/rolebindings/svc-00000001-viewer`],
	["DELETE", `${RBAC}/namespaces/default/rolebindings/svc-00000001-viewer`],
	["DELETE", `${CORE}/serviceaccounts/svc-00000001`],
	["DELETE", `${CORE}/serviceaccounts/svc-00000001`],
];

test("the fake answers as the real one does", options, async (t) => {
	const fake = await startFakeOrchestrator();
	t.after(() => fake.stop());
	for (const [method, path, body] of CALLS) {
		const real = await kubernetes.request(method, path, body);
		const faked = await ask(fake, method, path, body);
		assert.equal(faked.status, real.status, `${method} ${path}`);
		if (real.status >= 400) assert.equal(faked.body.reason, real.body.reason, `${method} ${path}`);
	}
	assert.deepEqual([...fake.objects], []);
});

test("the fake does what it is asked, as often as it is asked, and remembers", async (t) => {
	const fake = await startFakeOrchestrator();
	t.after(() => fake.stop());
	const path = `${CORE}/serviceaccounts/svc-00000003`;
	const remove = () => ask(fake, "DELETE", path);
	const add = () => fake.objects.set(path, { metadata: { name: "svc-00000003" } });
	add();
	fake.fault("delete_account", { does: "answer", status: 500, times: 1 });
	assert.equal((await remove()).status, 500);
	assert.equal(fake.objects.has(path), true);
	assert.equal((await remove()).status, 200);
	add();
	fake.fault("delete_account", { does: "drop", acts: true });
	await assert.rejects(remove(), { code: "ECONNRESET" });
	assert.equal(fake.objects.has(path), false);
	fake.fault("delete_account", undefined);
	assert.equal((await remove()).status, 404);
	assert.deepEqual(fake.steps(), Array(4).fill("delete_account"));
});

async function ask(fake: FakeOrchestrator, method: string, path: string, body?: object) {
	const api = apiClient(fake.url, fake.ca, fake.token);
	try {
		return await api.request(method, path, body);
	} finally {
		api.close();
	}
}
