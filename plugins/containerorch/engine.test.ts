import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDescriptor } from "../../packages/protocol/src/index.ts";
import descriptor from "./plugin.json" with { type: "json" };
import { ACCOUNTS, BINDINGS, LEASE, metadataOf, startBench } from "./testing.ts";

const ROLES = [
	["viewer", "view"],
	["editor", "edit"],
	["admin", "admin"],
] as const;

test("the descriptor is what the contract asks for, with the roles and fields of the specification", () => {
	const { name, version, tier, config_schema, default_roles, capabilities } = parseDescriptor(descriptor);
	assert.deepEqual([name, version, tier], ["containerorch", "0.1.0", "official"]);
	assert.deepEqual(Object.keys(config_schema.properties), [
		"kubeconfig_path",
		"api_server",
		"bearer_token",
		"ca_cert",
		"namespace",
		"token_ttl",
	]);
	assert.deepEqual(config_schema.required, []);
	assert.deepEqual(
		default_roles.map(({ name, config }) => [name, config.cluster_role]),
		ROLES,
	);
	assert.deepEqual(capabilities, [
		"host:http",
		"host:store:read",
		"host:store:write",
		"host:audit",
		"engine:dynamic_credentials",
		"engine:lease_hint",
		"engine:list",
		"engine:privileges",
	]);
});

for (const [role, cluster_role] of ROLES) {
	test(`generate for ${role} creates the account, binds it to ${cluster_role} and requests a token, in this order`, async (t) => {
		const { fake, generate } = await startBench(t);
		const { token, expires_at, ...rest } = await generate({ role, ttl: "90m", namespace: "default" });
		const { service_account } = rest;
		assert.match(String(service_account), /^svc-[0-9a-f]{8}$/);
		assert.deepEqual(rest, {
			namespace: "default",
			service_account,
			role_binding: `${service_account}-${role}`,
			cluster_role,
		});
		assert.match(String(token), /^[\w-]+\.[\w-]+\.[\w-]+$/);
		assert.ok(Math.abs(Date.parse(String(expires_at)) - Date.now() - 90 * 60_000) < 30_000, String(expires_at));
		const { uid } = metadataOf(fake, `${ACCOUNTS}/${service_account}`);
		const metadata = { namespace: "default", labels: { "app.kubernetes.io/managed-by": "svc" } };
		assert.deepEqual(
			fake.calls.map(({ method, path, body }) => ({ method, path, body })),
			[
				{
					method: "POST",
					path: ACCOUNTS,
					body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata, name: service_account } },
				},
				{
					method: "POST",
					path: BINDINGS,
					body: {
						apiVersion: "rbac.authorization.k8s.io/v1",
						kind: "RoleBinding",
						metadata: {
							...metadata,
							name: `${service_account}-${role}`,
							ownerReferences: [{ apiVersion: "v1", kind: "ServiceAccount", name: service_account, uid }],
						},
						roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: cluster_role },
						subjects: [{ kind: "ServiceAccount", name: service_account, namespace: "default" }],
					},
				},
				{
					method: "POST",
					path: `${ACCOUNTS}/${service_account}/token`,
					body: {
						apiVersion: "authentication.k8s.io/v1",
						kind: "TokenRequest",
						spec: { expirationSeconds: 5400 },
					},
				},
			],
		);
	});
}

test("every call has the engine's token and says that it speaks JSON", async (t) => {
	const { fake, generate, ping, validate, list } = await startBench(t);
	await ping();
	const { service_account } = await generate({ role: "viewer" });
	await list({});
	await validate({ service_account });
	assert.deepEqual(new Set(fake.calls.map(({ method }) => method)), new Set(["GET", "POST", "DELETE"]));
	for (const { headers, body } of fake.calls) {
		assert.equal(headers.authorization, `Bearer ${fake.token}`);
		assert.equal(headers["content-type"], "application/json");
		assert.equal(headers["transfer-encoding"], undefined);
		assert.equal(headers["content-length"], body === undefined ? undefined : String(JSON.stringify(body).length));
	}
});

test("the core's name is taken, and both objects say which lease they belong to", async (t) => {
	const { fake, generate } = await startBench(t);
	const { service_account, role_binding } = await generate({ role: "editor", _lease: LEASE });
	assert.deepEqual([service_account, role_binding], [LEASE.name, `${LEASE.name}-editor`]);
	for (const path of [`${ACCOUNTS}/${LEASE.name}`, `${BINDINGS}/${LEASE.name}-editor`]) {
		assert.deepEqual(metadataOf(fake, path).labels, {
			"app.kubernetes.io/managed-by": "svc",
			"svc/lease-id": LEASE.id,
		});
	}
});

test("two credentials without the core's names have different ones", async (t) => {
	const { generate } = await startBench(t);
	const [one, other] = [await generate({ role: "viewer" }), await generate({ role: "viewer", _lease: null })];
	assert.notEqual(one.service_account, other.service_account);
});

test("namespace and ttl come from the configuration when the request leaves them out", async (t) => {
	const { fake, generate, validate } = await startBench(t, {
		env: { SVC_ORCH_NAMESPACE: "apps", SVC_ORCH_TOKEN_TTL: "2h" },
	});
	const { namespace, service_account } = await generate({ role: "viewer", namespace: null, ttl: null });
	assert.equal(namespace, "apps");
	assert.deepEqual(fake.calls.at(-1)?.body?.spec, { expirationSeconds: 7200 });
	await validate({ service_account });
	assert.deepEqual([...fake.objects], []);
	await generate({ role: "viewer", namespace: "other", ttl: "10m0.9s" });
	assert.deepEqual(fake.calls.at(-1)?.body?.spec, { expirationSeconds: 600 });
	assert.match(String(fake.calls.at(-1)?.path), /\/namespaces\/other\//);
});

test("what the params of generate cannot be is refused before anything is asked", async (t) => {
	const { fake, generate } = await startBench(t, { env: { SVC_ORCH_TOKEN_TTL: "5m" } });
	const lease = (changes: object) => ({ role: "viewer", _lease: { ...LEASE, ...changes } });
	const table: [params: Record<string, unknown>, message: string][] = [
		[{ role: "root" }, "unknown role root: "],
		[{ role: "constructor" }, "unknown role constructor: "],
		[{ role: "Viewer\n\u001b[2J" }, "unknown role Viewer\\u{a}\\u{1b}[2J: "],
		[{}, "unknown role : "],
		[{ role: null }, "unknown role : "],
		[{ role: 5 }, "role "],
		[{ role: "viewer", ttl: "" }, "invalid ttl: "],
		[{ role: "viewer", ttl: "1 hour" }, "invalid ttl: "],
		[{ role: "viewer", ttl: "-1h" }, "invalid ttl: "],
		[{ role: "viewer", ttl: "1d" }, "invalid ttl: "],
		[{ role: "viewer", ttl: 3600 }, "ttl "],
		[{ role: "viewer", ttl: "9m59.9s" }, "ttl 9m59.9s "],
		[{ role: "viewer", ttl: "1ns" }, "ttl 1ns "],
		[{ role: "viewer" }, "ttl 5m "],
		...["", "a/b", "../kube-system", "A", "-a", "a-", "a.b", "a b", "a\n", "a".repeat(64)].map(
			(namespace): [Record<string, unknown>, string] => [{ role: "viewer", namespace }, "namespace "],
		),
		[{ role: "viewer", namespace: ["default"] }, "namespace "],
		[{ ...lease({ name: "svc-00C0FFEE" }), ttl: "1h" }, "_lease.name "],
		[{ ...lease({ name: "svc-00c0ffee\n" }), ttl: "1h" }, "_lease.name "],
		[{ ...lease({ name: undefined }), ttl: "1h" }, "_lease.name "],
		[{ ...lease({ id: "" }), ttl: "1h" }, "_lease.id "],
		[{ ...lease({ id: "a".repeat(64) }), ttl: "1h" }, "_lease.id "],
		[{ ...lease({ id: 7 }), ttl: "1h" }, "_lease.id "],
		[{ role: "viewer", ttl: "1h", _lease: "svc-00c0ffee" }, "_lease.name "],
	];
	for (const [params, message] of table) {
		await assert.rejects(generate(params), (error: Error) => {
			assert.ok(error.message.startsWith(message), `${JSON.stringify(params)}: ${error.message}`);
			return /^(EngineError|ParamsError)$/.test(error.name);
		});
	}
	assert.deepEqual(fake.calls, []);
});

test("validate deletes the bindings of all three roles, and after them the account", async (t) => {
	const { fake, generate, validate } = await startBench(t);
	const { service_account } = await generate({ role: "editor" });
	fake.steps();
	assert.deepEqual(await validate({ service_account }), {
		valid: false,
		message: `service account ${service_account} and bindings deleted`,
	});
	assert.deepEqual(fake.steps(), ["delete_binding", "delete_binding", "delete_binding", "delete_account"]);
	const deleted = fake.calls.slice(3).map(({ path }) => path);
	const bindings = ROLES.map(([role]) => `${BINDINGS}/${service_account}-${role}`);
	assert.deepEqual(new Set(deleted.slice(0, 3)), new Set(bindings));
	assert.equal(deleted[3], `${ACCOUNTS}/${service_account}`);
	assert.deepEqual([...fake.objects], []);
});

test("an account that is not there is an error with status 404, by which the core sees that it is gone", async (t) => {
	const { validate } = await startBench(t);
	const path = `${ACCOUNTS}/svc-00c0ffee`;
	await assert.rejects(validate({ service_account: "svc-00c0ffee" }), {
		name: "EngineError",
		message: new RegExp(`^deleting service account: DELETE ${path}: status 404: \\{"kind":"Status",.*"code":404\\}$`),
	});
});

test("bindings that cannot be deleted do not keep the account", async (t) => {
	const { fake, generate, validate } = await startBench(t, { timeout_ms: 1500 });
	for (const fault of [
		{ does: "answer", status: 500 },
		{ does: "answer", status: 403 },
		{ does: "drop" },
		{ does: "hang" },
	] as const) {
		const { service_account } = await generate({ role: "viewer" });
		fake.fault("delete_binding", fault);
		const { valid } = await validate({ service_account });
		assert.equal(valid, false);
		assert.equal(fake.objects.has(`${ACCOUNTS}/${service_account}`), false);
	}
});

test("bindings whose deletion got no answer are deleted again after the account", async (t) => {
	const { fake, generate, validate } = await startBench(t);
	const { service_account } = await generate({ role: "viewer" });
	fake.fault("delete_binding", { does: "drop", times: 3 });
	await validate({ service_account });
	assert.deepEqual([...fake.objects.keys()], []);
});

test("validate touches nothing but what the engine could have made", async (t) => {
	const { fake, validate } = await startBench(t);
	const unmanaged = "refusing to delete a non-managed service account: ";
	const table: [params: Record<string, unknown>, message: string][] = [
		[{}, "service_account is required"],
		[{ service_account: null }, "service_account is required"],
		[{ service_account: "" }, "service_account is required"],
		[{ service_account: ["svc-00c0ffee"] }, "service_account "],
		...["default", "svc-", "svc-00c0ffe", "svc-00c0ffee0", "SVC-00c0ffee", "svc-00C0FFEE", "svc_00c0ffee"].map(
			(service_account): [Record<string, unknown>, string] => [{ service_account }, unmanaged],
		),
		[{ service_account: "svc-00c0ffee/../default" }, unmanaged],
		[{ service_account: "svc-00c0ffee\n" }, unmanaged],
		[{ service_account: "svc-00c0ffee", namespace: "kube-system/serviceaccounts/x" }, "namespace "],
		[{ service_account: "svc-00c0ffee", namespace: "" }, "namespace "],
	];
	for (const [params, message] of table) {
		await assert.rejects(validate(params), (error: Error) => {
			assert.ok(error.message.startsWith(message), `${JSON.stringify(params)}: ${error.message}`);
			return true;
		});
	}
	assert.deepEqual(fake.calls, []);
});

test("ping reads the namespace default, and says why it cannot", async (t) => {
	const { fake, ping } = await startBench(t);
	await ping();
	assert.deepEqual(
		fake.calls.map(({ method, path }) => `${method} ${path}`),
		["GET /api/v1/namespaces/default"],
	);
	fake.fault("ping", { does: "answer", status: 403, body: "not you" });
	await assert.rejects(ping(), {
		message: "ping failed: GET /api/v1/namespaces/default: status 403: not you",
	});
});

test("a credential comes with the way to the API server when the core asks for it, and not otherwise", async (t) => {
	const { fake, generate } = await startBench(t);
	const asked = await generate({ role: "viewer", _connection: true });
	assert.deepEqual(asked.connection, { server: fake.url, ca_cert: fake.ca });
	assert.equal((await generate({ role: "viewer" })).connection, undefined);
	const skipping = await startBench(t, { env: { SVC_ORCH_CA_CERT: "" } });
	assert.deepEqual((await skipping.generate({ role: "viewer", _connection: true })).connection, {
		server: skipping.fake.url,
		insecure_skip_tls_verify: true,
	});
});
