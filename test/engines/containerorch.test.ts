import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { bind, person, realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type Kubernetes, skipWithoutKubernetes, startKubernetes } from "../peers/kubernetes.ts";

interface Credential {
	token: string;
	namespace: string;
	service_account: string;
	role_binding: string;
	cluster_role: string;
	expires_at: string;
}

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

const options = { skip: skipWithoutKubernetes };
let world: EngineWorld;
let kubernetes: Kubernetes;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutKubernetes !== false) return;
	kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	await kubernetes.namespace("apps");
	world = await startEngineWorld();
	ends.defer(world.close);
	const { status } = ok(await configure({}));
	assert.equal(status, "healthy");
});

const configure = (more: object, where?: string) => {
	const { url: api_server, adminToken: bearer_token, ca: ca_cert } = kubernetes;
	const usual = { api_server, bearer_token, ca_cert, namespace: "apps" };
	return world.configure("containerorch", { ...usual, ...more }, where);
};

const invoke = <T = Credential>(what: "generate" | "validate", params: object, where?: string) =>
	world[what]<T>("containerorch", params, where);

const accountPath = ({ namespace, service_account }: Pick<Credential, "namespace" | "service_account">) =>
	`/api/v1/namespaces/${namespace}/serviceaccounts/${service_account}`;
const bindingPath = ({ namespace, role_binding }: Credential) =>
	`${RBAC}/namespaces/${namespace}/rolebindings/${role_binding}`;

async function isThere(made: Pick<Credential, "namespace" | "service_account">): Promise<boolean> {
	return (await kubernetes.request("GET", accountPath(made))).status === 200;
}

/** Returns the API server's answer to a request with the credential. */
async function act({ token }: Credential, method: string, path: string, body?: object): Promise<number> {
	return (await kubernetes.request(method, path, body, token)).status;
}

const configMap = (name: string) => ({ metadata: { name } });
const MAPS = "/api/v1/namespaces/apps/configmaps";
const ROLES = `${RBAC}/namespaces/apps/roles`;
const LIFE_S = 3600;

/** The rights of each role: reading pods, writing, reading secrets, making roles. */
const TABLE = [
	["viewer", "view", [200, 403, 403, 403]],
	["editor", "edit", [200, 201, 200, 403]],
	["admin", "admin", [200, 201, 200, 201]],
] as const;

for (const [role, cluster_role, statuses] of TABLE) {
	test(
		`${role} gets a token that may do in its namespace what ${cluster_role} may, and nothing elsewhere`,
		options,
		async () => {
			const answer = await invoke("generate", { role, ttl: "1h" });
			const made = ok(answer);
			fields(made, ["token", "namespace", "service_account", "role_binding", "cluster_role", "expires_at"]);
			assert.match(made.service_account, /^svc-[0-9a-f]{8}$/);
			assert.equal(made.namespace, "apps");
			assert.equal(made.role_binding, `${made.service_account}-${role}`);
			assert.equal(made.cluster_role, cluster_role);
			const name = made.service_account;
			assert.deepEqual(
				[
					await act(made, "GET", "/api/v1/namespaces/apps/pods"),
					await act(made, "POST", MAPS, configMap(name)),
					await act(made, "GET", "/api/v1/namespaces/apps/secrets"),
					await act(made, "POST", ROLES, { metadata: { name }, rules: [] }),
				],
				statuses,
			);
			assert.equal(await act(made, "GET", "/api/v1/namespaces/default/pods"), 403);
			assert.equal(await act(made, "GET", "/api/v1/nodes"), 403);
		},
	);
}

test("account and binding say whose they are, and the token ends when the API server says", options, async () => {
	const answer = await invoke("generate", { role: "viewer", ttl: "10m0.9s" });
	const made = ok(answer);
	const lease = await world.leaseOf(answer);
	assert.deepEqual([lease.state, lease.name, lease.role], ["active", made.service_account, "viewer"]);
	const labels = { "app.kubernetes.io/managed-by": "svc", "svc/lease-id": lease.id };
	const account = (await kubernetes.request("GET", accountPath(made))).body;
	assert.deepEqual((account.metadata as { labels: object }).labels, labels);
	const { body } = await kubernetes.request("GET", bindingPath(made));
	assert.deepEqual((body.metadata as { labels: object }).labels, labels);
	assert.deepEqual(body.roleRef, { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" });
	assert.deepEqual(body.subjects, [{ kind: "ServiceAccount", name: made.service_account, namespace: "apps" }]);
	const claims = JSON.parse(Buffer.from(made.token.split(".")[1] ?? "", "base64url").toString());
	assert.equal(Date.parse(made.expires_at), claims.exp * 1000);
	assert.equal(claims.exp - claims.iat, 600);
	assert.equal(Date.parse(lease.expires_at), claims.exp * 1000);
});

test(
	"ttl and namespace come from the configuration, and its other namespaces are asked for by name",
	options,
	async () => {
		const { slug } = await realm(world.client, world.admin);
		ok(await configure({ namespace: "default", token_ttl: "2h", allowed_namespaces: ["apps"] }, slug));
		const made = ok(await invoke("generate", { role: "viewer", ttl: null, namespace: "" }, slug));
		assert.equal(made.namespace, "default");
		const left_s = (Date.parse(made.expires_at) - Date.now()) / 1000;
		assert.ok(Math.abs(left_s - 2 * LIFE_S) < 60, `${left_s}`);
		const other = ok(await invoke("generate", { role: "viewer", namespace: "apps" }, slug));
		assert.equal(other.namespace, "apps");
		ok(await invoke("validate", { service_account: other.service_account, namespace: "apps" }, slug));
		assert.deepEqual([await isThere(made), await isThere(other)], [true, false]);
		ok(await invoke("validate", { service_account: made.service_account }, slug));
		assert.equal(await isThere(made), false);
	},
);

test("kube-system is reached when it is listed, and not when it is only the usual one", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const namespace = "kube-system";
	ok(await configure({ namespace }, slug));
	refused(await invoke("generate", { role: "viewer" }, slug), 400, "validation_failed");
	ok(await configure({ allowed_namespaces: [namespace] }, slug));
	const made = ok(await invoke("generate", { role: "viewer", namespace }, slug));
	assert.equal(await act(made, "GET", "/api/v1/namespaces/kube-system/pods"), 200);
	ok(await invoke("validate", { service_account: made.service_account, namespace }, slug));
	assert.equal(await isThere(made), false);
});

test(
	"validate ends all rights immediately and the token within the API server's bound, and may be repeated",
	options,
	async () => {
		const answer = await invoke("generate", { role: "editor" });
		const made = ok(answer);
		const { service_account } = made;
		assert.equal(await act(made, "GET", "/api/v1/namespaces/apps/pods"), 200);
		const message = `service account ${service_account} and bindings deleted`;
		assert.deepEqual(ok(await invoke("validate", { service_account })), { valid: false, message });
		assert.notEqual(await act(made, "GET", "/api/v1/namespaces/apps/pods"), 200);
		assert.equal((await kubernetes.request("GET", bindingPath(made))).status, 404);
		assert.equal(await isThere(made), false);
		assert.equal((await world.leaseOf(answer)).state, "revoked");
		assert.deepEqual(ok(await invoke("validate", { service_account })), { valid: false, message }, "and again");
		const unused = ok(await invoke("generate", { role: "editor" }));
		ok(await invoke("validate", { service_account: unused.service_account }));
		assert.equal(await act(unused, "GET", "/api/v1/namespaces/apps/pods"), 401, "it was never used");
		// For ten seconds an API server still accepts a token that it has just checked.
		const isRefused = async () => (await act(made, "GET", "/api/v1/namespaces/apps/pods")) === 401;
		await eventually("the token that was just used is refused too", isRefused);
	},
);

test("what somebody deleted by hand counts as revoked", options, async () => {
	for (const path of [accountPath, bindingPath]) {
		const answer = await invoke("generate", { role: "admin" });
		const made = ok(answer);
		assert.equal((await kubernetes.request("DELETE", path(made))).status, 200);
		ok(await invoke("validate", { service_account: made.service_account }));
		assert.equal((await world.leaseOf(answer)).state, "revoked");
		assert.equal(await isThere(made), false);
	}
});

test("the realm's deletion revokes its credentials", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const made = ok(await invoke("generate", { role: "viewer" }, slug));
	ok(await world.client.delete(`/realms/${slug}`, { token: world.admin.token }));
	await eventually("the account is gone", async () => !(await isThere(made)));
});

test("another realm's credential is not found, and lives", options, async () => {
	const made = ok(await invoke("generate", { role: "viewer" }));
	const { slug } = await realm(world.client, world.admin);
	refused(await invoke("validate", { service_account: made.service_account }, slug), 404, "not_found");
	assert.equal(await act(made, "GET", "/api/v1/namespaces/apps/pods"), 200);
});

test("a name that nobody made is answered when it is absent, and left alone when it exists", options, async () => {
	const message = "service account svc-00000001 and bindings deleted";
	assert.deepEqual(ok(await invoke("validate", { service_account: "svc-00000001" })), { valid: false, message });
	const foreign = { namespace: "apps", service_account: "svc-00000002" };
	await kubernetes.request("POST", "/api/v1/namespaces/apps/serviceaccounts", { metadata: { name: "svc-00000002" } });
	refused(await invoke("validate", { service_account: "svc-00000002" }), 404, "not_found");
	assert.equal(await isThere(foreign), true);
});

test("somebody who may only read gets a viewer and no other", options, async () => {
	const viewer = await person(world.client, "viewer");
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const path = `/realms/${world.slug}/engines/containerorch/generate`;
	ok(await world.client.post(path, { role: "viewer" }, { token: viewer.token }));
	for (const role of ["editor", "admin"])
		refused(await world.client.post(path, { role }, { token: viewer.token }), 403, "forbidden");
});

const NOT_ALLOWED = /\ballowed_namespaces\b/;
const UNKNOWN = "[a-z ]+ viewer, editor, admin";
const UNMANAGED = /^refusing to delete /;
const REFUSALS: [what: "generate" | "validate", params: object, code: string, message: RegExp][] = [
	["generate", {}, "engine_error", new RegExp(`^unknown role : ${UNKNOWN}$`)],
	["generate", { role: "root" }, "engine_error", new RegExp(`^unknown role root: ${UNKNOWN}$`)],
	["generate", { role: "admin\r\n" }, "engine_error", /^unknown role admin\\u\{d\}\\u\{a\}: /],
	["generate", { role: "view\0" }, "engine_error", /^unknown role view\\u\{0\}: /],
	["generate", { role: 5 }, "engine_error", /^invalid params: role\b/],
	["generate", { role: "viewer", ttl: "9m59s" }, "engine_error", /^ttl 9m59s .*\b10m$/],
	["generate", { role: "viewer", ttl: "9999999h" }, "invalid_ttl", /^invalid ttl/],
	["generate", { role: "viewer", ttl: "1h 1h" }, "invalid_ttl", /^invalid ttl/],
	["generate", { role: "viewer", ttl: "" }, "invalid_ttl", /^invalid ttl/],
	["generate", { role: "viewer", ttl: "-1h" }, "invalid_ttl", /^invalid ttl/],
	["generate", { role: "viewer", ttl: 600 }, "invalid_ttl", /^invalid ttl/],
	["generate", { role: "viewer", namespace: "default" }, "validation_failed", NOT_ALLOWED],
	["generate", { role: "viewer", namespace: "kube-system" }, "validation_failed", NOT_ALLOWED],
	["generate", { role: "viewer", namespace: "apps/../kube-system" }, "validation_failed", NOT_ALLOWED],
	["generate", { role: "viewer", namespace: "apps\r\nX: y" }, "validation_failed", NOT_ALLOWED],
	["generate", { role: "viewer", namespace: "apps\0" }, "validation_failed", NOT_ALLOWED],
	["generate", { role: "viewer", namespace: ["apps"] }, "engine_error", /^invalid params: namespace\b/],
	["validate", {}, "engine_error", /^service_account\b/],
	["validate", { service_account: "default" }, "engine_error", UNMANAGED],
	["validate", { service_account: "svc-" }, "engine_error", UNMANAGED],
	["validate", { service_account: "SVC-00000001" }, "engine_error", UNMANAGED],
	["validate", { service_account: "svc-00000001\r\n" }, "engine_error", UNMANAGED],
	["validate", { service_account: "svc-00000001/../default" }, "engine_error", UNMANAGED],
	["validate", { service_account: "svc-00000001", namespace: "kube-system" }, "validation_failed", NOT_ALLOWED],
];

async function managed(): Promise<number> {
	const { body } = await kubernetes.request("GET", "/api/v1/serviceaccounts");
	const items = body.items as { metadata: { name: string } }[];
	return items.filter(({ metadata: { name } }) => name.startsWith("svc-")).length;
}

for (const [what, params, code, message] of REFUSALS) {
	test(`${what} ${JSON.stringify(params)} is refused, and nothing changes`, options, async () => {
		const before = await managed();
		const answer = await invoke<ErrorBody>(what, params);
		refused(answer, 400, code);
		assert.match(answer.body.error.message, message);
		assert.equal(await managed(), before);
	});
}
