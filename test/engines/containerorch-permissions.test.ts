import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";

const CORE = "/api/v1/namespaces";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const MANIFEST = new URL("../../plugins/containerorch/manifest.yaml", import.meta.url);

interface Check {
	readonly name: string;
	readonly status: string;
	readonly message: string;
}

const options = { skip: skipWithoutKubernetes };
let world: EngineWorld;
let kubernetes: Kubernetes;
/** The token of the manifest's service account. */
let token: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutKubernetes !== false) return;
	kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	for (const name of ["apps", "elsewhere"]) await kubernetes.namespace(name);
	const objects = (await readFile(MANIFEST, "utf8")).split(/^---$/m);
	for (const object of objects) await apply(object);
	// As docs/kubernetes.md describes for other namespaces.
	const binding = objects.find((object) => object.includes("kind: RoleBinding")) ?? "";
	await apply(binding.replace("namespace: default", "namespace: apps"));
	const accounts = `${CORE}/svc/serviceaccounts/svc-containerorch/token`;
	const { body } = await kubernetes.request("POST", accounts, { spec: { expirationSeconds: 3600 } });
	token = (body.status as { token: string }).token;
	world = await startEngineWorld();
	ends.defer(world.close);
});

/** Creates an object exactly as the manifest has it. */
async function apply(object: string): Promise<void> {
	const kind = /^kind: (\w+)$/m.exec(object)?.[1] ?? "";
	const namespace = /^ {2}namespace: (\S+)$/m.exec(object)?.[1];
	const group = /^apiVersion: (\S+)$/m.exec(object)?.[1] === "v1" ? "/api/v1" : RBAC;
	const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
	const { status, body } = await kubernetes.request("POST", `${group}${scope}/${kind.toLowerCase()}s`, object);
	assert.equal(status, 201, `${kind}: ${String(body.message)}`);
}

test("with the manifest's account everything works in the namespaces that it is bound in", options, async () => {
	const configured = await world.configure("containerorch", {
		api_server: kubernetes.url,
		bearer_token: token,
		ca_cert: kubernetes.ca,
		allowed_namespaces: ["apps", "elsewhere"],
	});
	assert.equal(ok(configured).status, "healthy");
	for (const namespace of ["default", "apps"]) {
		for (const role of ["viewer", "editor", "admin"]) {
			const params = { role, namespace };
			const answer = await world.generate<{ token: string; service_account: string }>("containerorch", params);
			const { token: made, service_account } = ok(answer);
			const pods = await kubernetes.request("GET", `${CORE}/${namespace}/pods`, undefined, made);
			assert.equal(pods.status, 200);
			ok(await world.validate("containerorch", { service_account, namespace }));
			const path = `${CORE}/${namespace}/serviceaccounts/${service_account}`;
			assert.equal((await kubernetes.request("GET", path)).status, 404);
			assert.equal((await world.leaseOf(answer)).state, "revoked");
		}
	}
});

test("where it is not bound, nothing is made", options, async () => {
	const params = { role: "viewer", namespace: "elsewhere" };
	const answer = await world.generate<ErrorBody>("containerorch", params);
	refused(answer, 400, "engine_error");
	const said =
		/^creating service account: POST \/api\/v1\/namespaces\/elsewhere\/serviceaccounts: status 403: .*forbidden/;
	assert.match(answer.body.error.message, said);
	await eventually("its lease is closed", async () => (await world.leases("aborted")).length === 1);
});

test("the doctor names each right that is missing where it is not bound, and no other", options, async () => {
	const { client, admin } = world;
	const { checks } = ok(await client.get<{ checks: Check[] }>("/doctor", { token: admin.token }));
	const rights = checks
		.filter(({ name }) => name === "containerorch")
		.map(({ status, message }) => [status, message.split(":")[0]]);
	const right = (verb: string, status: string) => [status, `${verb} in elsewhere`];
	assert.deepEqual(rights, [
		right("create serviceaccounts", "failed"),
		right("delete serviceaccounts", "failed"),
		right("get serviceaccounts", "warning"),
		right("list serviceaccounts", "warning"),
		right("create serviceaccounts/token", "failed"),
		right("create rolebindings", "failed"),
		right("delete rolebindings", "warning"),
		right("bind clusterroles view", "failed"),
		right("bind clusterroles edit", "failed"),
		right("bind clusterroles admin", "failed"),
	]);
});

const bindingTo = (kind: string, name: string) => ({
	metadata: { name: "svc-00000001-more" },
	roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
	subjects: [{ kind: "ServiceAccount", name: "svc-containerorch", namespace: "svc" }],
});

const FORBIDDEN: [what: string, method: string, path: string, body?: object][] = [
	["bind cluster-admin", "POST", `${RBAC}/namespaces/default/rolebindings`, bindingTo("ClusterRole", "cluster-admin")],
	["bind view everywhere", "POST", `${RBAC}/clusterrolebindings`, bindingTo("ClusterRole", "view")],
	["bind a role of the namespace", "POST", `${RBAC}/namespaces/default/rolebindings`, bindingTo("Role", "powerful")],
	["make a role", "POST", `${RBAC}/namespaces/default/roles`, { metadata: { name: "more" }, rules: [] }],
	["read secrets", "GET", `${CORE}/default/secrets`],
	["read pods", "GET", `${CORE}/default/pods`],
	["read another namespace", "GET", `${CORE}/kube-system`],
	["list the namespaces", "GET", CORE],
	["list all service accounts", "GET", "/api/v1/serviceaccounts"],
	["delete all service accounts", "DELETE", `${CORE}/default/serviceaccounts`],
	["make an account elsewhere", "POST", `${CORE}/kube-system/serviceaccounts`, { metadata: { name: "svc-00000001" } }],
	["make a token elsewhere", "POST", `${CORE}/svc/serviceaccounts/svc-containerorch/token`, { spec: {} }],
];

for (const [what, method, path, body] of FORBIDDEN) {
	test(`the manifest's account may not ${what}`, options, async () => {
		const { request } = kubernetes;
		const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
		const role = `${RBAC}/namespaces/default/roles`;
		if (what.includes("a role of")) await request("POST", role, { metadata: { name: "powerful" }, rules });
		assert.equal((await request(method, path, body, token)).status, 403);
	});
}
