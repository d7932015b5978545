import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createAuthority } from "../../packages/x509/src/index.ts";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import { installEngine } from "../harness/install-engine.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { freePort } from "../peers/free-port.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

/*
 * The error table of ENGINES › Errors as a caller of the API meets it, row by row. messages-process.test.ts covers the rows that no caller can
 * cause.
 */

const NAMESPACED = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

let folder: string;
let world: EngineWorld;
let orchestrator: FakeOrchestrator;
/** A realm without its own configurations of engines. */
let other: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	folder = await mkdtemp(join(tmpdir(), "svc-messages-"));
	ends.defer(() => rm(folder, { recursive: true }));
	await install("maker", "engine:secret_generation", "generate");
	await install("checker", "engine:secret_validation", "validate");
	orchestrator = await startFakeOrchestrator();
	ends.defer(orchestrator.stop);
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	ends.defer(world.close);
	other = (await realm(world.client, world.admin)).slug;
	const { url: api_server, token: bearer_token, ca: ca_cert } = orchestrator;
	ok(await world.configure("containerorch", { api_server, bearer_token, ca_cert }));
	const away = `127.0.0.1:${await freePort()}`;
	ok(await world.configure("keyvalue", { address: away, password: "password" }));
	ok(await world.configure("documentdb", { connection_uri: `mongodb://${away}/`, database: "app" }));
	const now = new Date("2020-01-01T00:00:00Z");
	const old = await createAuthority({ common_name: "Old CA", organization: "", now, years: 1, randomBytes });
	const expired = { ca_certificate: old.certificate, ca_private_key: old.private_key };
	ok(await world.configure("pki", expired, other));
});

/** Installs an engine with one of the two capabilities. */
async function install(type: string, capability: string, method: string): Promise<void> {
	const descriptor = { capabilities: [capability], display_name: "Half an engine", description: "One thing only" };
	const described = { ...descriptor, name: type, version: "0.1.0", capabilities: [capability.slice("engine:".length)] };
	const text = `#!/bin/sh
while read -r line; do
  case $line in
    *'"describe"'*) echo '${JSON.stringify({ data: described })}' ;;
    *'"${method}"'*) echo '{"data":{"valid":true}}' ;;
    *) echo '{"data":{"status":"healthy"}}' ;;
  esac
done
`;
	await installEngine(folder, type, { file: "engine.sh", text }, descriptor);
}

interface Row {
	readonly condition: string;
	readonly engine: string;
	readonly what: "generate" | "validate";
	/** A text is sent unchanged. */
	readonly params: object | string;
	readonly code: string;
	/** A text is specified word for word. */
	readonly message: string | RegExp;
}

function rows(
	condition: string,
	engine: string,
	what: Row["what"],
	code: string,
	cases: readonly (readonly [params: object | string, message: Row["message"]])[],
): Row[] {
	return cases.map(([params, message]) => ({ condition, engine, what, params, code, message }));
}

const KV_ROLES = "readonly, readwrite, admin";
const DOC_ROLES = "read, readWrite, dbAdmin";
const ORCH_ROLES = "viewer, editor, admin";
const database = "app";
const common_name = "app.example.com";

const TABLE: Row[] = [
	...["keyvalue", "documentdb", "containerorch", "pki", "totp"].flatMap((engine) =>
		(["generate", "validate"] as const).flatMap((what) =>
			rows("params are not valid JSON: the core refuses them", engine, what, "invalid_json", [
				["{", /\bJSON$/],
				["", /\bJSON$/],
			]),
		),
	),
	...rows("params are not of the right kind", "keyvalue", "generate", "engine_error", [
		[{ role: 5 }, /^parsing params: role /],
	]),
	...rows("params are not of the right kind", "keyvalue", "validate", "engine_error", [
		[{ username: ["svc_0123abcd"] }, /^parsing params: username /],
	]),
	...rows("params are not of the right kind", "documentdb", "generate", "engine_error", [
		[{ database: 5 }, /^parsing params: database /],
		[{ database, auth_database: {} }, /^parsing params: auth_database /],
		[{ database, role: true }, /^parsing params: role /],
	]),
	...rows("params are not of the right kind", "documentdb", "validate", "engine_error", [
		[{ username: 5 }, /^parsing params: username /],
		[{ username: "svc_0123abcd", auth_database: 5 }, /^parsing params: auth_database /],
	]),
	...rows("params are not of the right kind", "containerorch", "generate", "engine_error", [
		[{ role: 5 }, /^invalid params: role /],
		[{ role: "viewer", namespace: 5 }, /^invalid params: namespace /],
	]),
	...rows("params are not of the right kind", "containerorch", "validate", "engine_error", [
		[{ service_account: 5 }, /^invalid params: service_account /],
	]),
	...rows("params are not of the right kind", "pki", "generate", "engine_error", [
		[{ common_name: 5 }, /^invalid params: common_name /],
		[{ common_name, san: "app" }, /^invalid params: san /],
		[{ common_name, role: 5 }, /^invalid params: role /],
		[{ common_name, ttl: 5 }, /^invalid params: ttl /],
	]),
	...rows("params are not of the right kind", "pki", "validate", "engine_error", [
		[{ certificate: 5 }, /^invalid params: certificate /],
	]),
	...rows("unparsable ttl", "keyvalue", "generate", "invalid_ttl", unparsable({})),
	...rows("unparsable ttl", "documentdb", "generate", "invalid_ttl", unparsable({ database })),
	...rows("unparsable ttl", "containerorch", "generate", "invalid_ttl", unparsable({ role: "viewer" })),
	...rows("unparsable ttl", "pki", "generate", "engine_error", [
		[{ common_name, ttl: "soon" }, /^invalid ttl: ./],
		[{ common_name, ttl: "" }, /^invalid ttl/],
		[{ common_name, ttl: "0d" }, /^invalid ttl/],
	]),
	...rows("keyvalue unknown role", "keyvalue", "generate", "engine_error", [
		[{ role: "root" }, new RegExp(`^unknown role root: .* ${KV_ROLES}$`)],
		[{ role: "ReadOnly" }, new RegExp(`^unknown role ReadOnly: .* ${KV_ROLES}$`)],
	]),
	...rows("documentdb unknown role", "documentdb", "generate", "engine_error", [
		[{ role: "readwrite", database }, new RegExp(`^unknown role readwrite: .* ${DOC_ROLES}$`)],
	]),
	...rows("documentdb missing database on generate", "documentdb", "generate", "engine_error", [
		[{}, "database is required"],
		[{ database: "" }, "database is required"],
		[{ database: null }, "database is required"],
	]),
	...["keyvalue", "documentdb"].flatMap((engine) =>
		rows("revoke without username", engine, "validate", "engine_error", [
			[{}, "username is required"],
			[{ username: "" }, "username is required"],
			[{ username: null }, "username is required"],
		]),
	),
	...rows("revoke with username lacking the svc_ prefix", "keyvalue", "validate", "engine_error", [
		[{ username: "default" }, /^refusing to delete a non-managed user/],
	]),
	...rows("revoke with username lacking the svc_ prefix", "documentdb", "validate", "engine_error", [
		[{ username: "root" }, /^refusing to drop a non-managed user/],
	]),
	...rows("containerorch unknown or missing role", "containerorch", "generate", "engine_error", [
		[{ role: "root" }, new RegExp(`^unknown role root: .* ${ORCH_ROLES}$`)],
		[{ role: "" }, new RegExp(`^unknown role : .* ${ORCH_ROLES}$`)],
		[{}, new RegExp(`^unknown role : .* ${ORCH_ROLES}$`)],
	]),
	...rows("pki missing common_name", "pki", "generate", "engine_error", [
		[{}, "common_name is required"],
		[{ common_name: "" }, "common_name is required"],
		[{ common_name: null }, "common_name is required"],
	]),
	...rows("pki ttl above role maximum", "pki", "generate", "engine_error", [
		[{ common_name, ttl: "91d" }, "ttl 91d exceeds max 90d for role server"],
		[{ common_name, ttl: "2160h1s", role: "both" }, "ttl 2160h1s exceeds max 90d for role both"],
		[{ common_name, ttl: "31d", role: "client" }, "ttl 31d exceeds max 30d for role client"],
	]),
	...rows("API: engine does not support generation", "checker", "generate", "unsupported_operation", [
		[{}, "engine does not support generation"],
	]),
	...rows("API: engine does not support validation", "maker", "validate", "unsupported_operation", [
		[{}, "engine does not support validation"],
	]),
];

function unparsable(params: object): [object, RegExp][] {
	return [
		[{ ...params, ttl: "soon" }, /^invalid ttl: ./],
		[{ ...params, ttl: "" }, /^invalid ttl/],
		[{ ...params, ttl: "1d" }, /^invalid ttl/],
		[{ ...params, ttl: 5 }, /^invalid ttl/],
		[{ ...params, ttl: "0s" }, /^invalid ttl/],
	];
}

const messageOf = (answer: { body: unknown }) => (answer.body as ErrorBody).error.message;

for (const { condition, engine, what, params, code, message } of TABLE) {
	test(`${condition}: ${engine} ${what} ${JSON.stringify(params)} → ${message}`, async () => {
		const path = `/api/v1/realms/${world.slug}/engines/${engine}/${what}`;
		const raw = typeof params === "string" ? params : JSON.stringify(params);
		const answer = await world.client.send("POST", path, { token: world.admin.token, raw });
		refused(answer, 400, code);
		if (typeof message === "string") assert.equal(messageOf(answer), message);
		else assert.match(messageOf(answer), message);
	});
}

test("the other half of an engine that does one thing works", async () => {
	ok(await world.generate("maker", {}));
	assert.deepEqual(ok(await world.validate("checker", {})), { valid: true });
});

test("an engine type that there is not is not found", async () => {
	for (const what of ["generate", "validate"] as const) {
		const answer = await world[what]("nosuch", {});
		refused(answer, 404, "not_found");
		assert.match(messageOf(answer), /^engine type not found/);
	}
});

test("an unknown pki role raises no error", async () => {
	const { certificate } = ok(await world.generate<{ certificate: string }>("pki", { common_name, role: "root" }));
	assert.equal(ok(await world.validate("pki", { certificate })).valid, true);
});

/** Spec: ENGINES › Errors. `NAME` stands for the account's name. */
const STEPS = [
	["create_account", "creating service account: POST /api/v1/namespaces/default/serviceaccounts"],
	["create_binding", `creating role binding: POST ${NAMESPACED}/rolebindings`],
	["request_token", "requesting token: POST /api/v1/namespaces/default/serviceaccounts/NAME/token"],
] as const;
const body = '{"kind":"Status","message":"no \\"svc\\" here"}';

for (const [step, message] of STEPS) {
	for (const status of [400, 403, 409, 500]) {
		test(`${message}: status ${status}`, async () => {
			orchestrator.fault(step, { does: "answer", status, body });
			const answer = await world.generate("containerorch", { role: "viewer" });
			orchestrator.fault(step, undefined);
			refused(answer, 400, "engine_error");
			const shown = messageOf(answer).replace(/svc-[0-9a-f]{8}/, "NAME");
			assert.equal(shown, `${message}: status ${status}: ${body}`);
		});
	}
}

const PINGS: [engine: string, message: RegExp][] = [
	["keyvalue", /^ping failed: .*\(ECONNREFUSED\)$/],
	["documentdb", /^ping failed: .*\(ECONNREFUSED\)$/],
	["containerorch", /^ping failed: GET \/api\/v1\/namespaces\/default: status 503: \{/],
];
for (const [engine, message] of PINGS) {
	test(`${engine}, unhealthy: ${message}`, async () => {
		orchestrator.fault("ping", { does: "answer", status: 503, body });
		const { token } = world.admin;
		const answer = await world.client.post(`/engines/${engine}/ping`, undefined, { token });
		const shown = ok(await world.client.get<{ status: string }>(`/engines/${engine}/config`, { token }));
		orchestrator.fault("ping", undefined);
		refused(answer, 503, "engine_unavailable");
		assert.match(messageOf(answer), message);
		assert.equal(shown.status, messageOf(answer));
	});
}

test("pki, unhealthy: CA certificate has expired", async () => {
	const { token } = world.admin;
	const answer = await world.client.post(`/engines/pki/ping?realm=${other}`, undefined, { token });
	refused(answer, 503, "engine_unavailable");
	assert.equal(messageOf(answer), "CA certificate has expired");
	assert.equal(messageOf(await world.generate("pki", { common_name }, other)), "CA certificate has expired");
	ok(await world.client.post("/engines/pki/ping", undefined, { token }));
});

test("deleting service account: the caller gets the API server's answer, and the server keeps running", async () => {
	const answer = await world.generate<{ service_account: string }>("containerorch", { role: "viewer" });
	const { service_account } = ok(answer);
	orchestrator.fault("delete_account", { does: "answer", status: 403, body });
	const refusal = await world.validate("containerorch", { service_account });
	refused(refusal, 400, "engine_error");
	const path = `/api/v1/namespaces/default/serviceaccounts/${service_account}`;
	assert.equal(messageOf(refusal), `deleting service account: DELETE ${path}: status 403: ${body}`);
	await eventually("it says why", async () => (await world.leaseOf(answer)).last_error !== "");
	const { state, last_error } = await world.leaseOf(answer);
	assert.deepEqual([state, last_error], ["revoking", `deleting service account: DELETE ${path}: status 403: ${body}`]);
	orchestrator.fault("delete_account", undefined);
});
