/*
 * Rows of ENGINES › Errors that no caller of the API can cause, because the core is in between or nothing goes wrong: asked of the engines'
 * own processes, as the server starts them.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createAuthority } from "../../packages/x509/src/index.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

const MAIN = fileURLToPath(new URL("../../packages/svc/src/main.ts", import.meta.url));
const TIMEOUT_MS = 300_000;

interface Settings {
	readonly env?: Record<string, string>;
	/** A module for the process to load first. */
	readonly preload?: string;
}

/** Runs `svc plugin …` until it has answered the lines; a line that is not a text is written as JSON. */
async function serve(type: string, lines: readonly (string | object)[], { env = {}, preload }: Settings = {}) {
	const flags = preload === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(preload)}`];
	const child = spawn(process.execPath, [...flags, MAIN, "plugin", type], { env, timeout: TIMEOUT_MS });
	// A process that ends immediately does not read.
	child.stdin.on("error", () => undefined);
	child.stdin.end(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
	const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
	const responses = stdout.split("\n").filter((line) => line !== "");
	return { status, stderr, responses: responses.map((line) => JSON.parse(line)) };
}

const generate = (params: unknown) => ({ method: "generate", params });
const validate = (params: unknown) => ({ method: "validate", params });

let orchestrator: FakeOrchestrator;
/** Variables that each engine's process needs to start. */
let environment: Record<string, Record<string, string>>;

before(async () => {
	orchestrator = await startFakeOrchestrator();
	const { url, token, ca } = orchestrator;
	const kept = await createAuthority({ common_name: "CA", organization: "", now: new Date(), randomBytes });
	environment = {
		containerorch: { SVC_ORCH_API_SERVER: url, SVC_ORCH_TOKEN: token, SVC_ORCH_CA_CERT: ca },
		pki: { SVC_PKI_CA_CERT: kept.certificate, SVC_PKI_CA_KEY: kept.private_key },
	};
});
after(() => orchestrator.stop());

const envOf = (type: string) => ({ env: environment[type] ?? {} });

const PREFIXES = {
	keyvalue: "parsing params",
	documentdb: "parsing params",
	containerorch: "invalid params",
	pki: "invalid params",
};
for (const [type, prefix] of Object.entries(PREFIXES)) {
	test(`params are not valid JSON: ${type} answers ${prefix}`, async () => {
		const lines = [
			'{"method":"generate","params":{"role":',
			'{"method":"validate","params":{"username":"a","username":"b"}}',
			generate("role=admin"),
			generate(["admin"]),
			generate(null),
		];
		const { responses } = await serve(type, lines, envOf(type));
		const causes = ["JSON", "member name", "params", "params", "params"];
		assert.equal(responses.length, causes.length);
		for (const [index, cause] of causes.entries())
			assert.match(responses[index].error, new RegExp(`^${prefix}: .*\\b${cause}\\b`));
	});
}

const TTL_OF = { keyvalue: {}, documentdb: { database: "app" }, containerorch: { role: "viewer" } };
for (const [type, params] of Object.entries(TTL_OF)) {
	test(`unparsable ttl: ${type} would refuse what the core already does`, async () => {
		const lines = ["soon", "", "1d", "-1h", "0s"].map((ttl) => generate({ ...params, ttl }));
		const { responses } = await serve(type, lines, envOf(type));
		assert.equal(responses.length, lines.length);
		for (const { error } of responses) assert.match(error, /^invalid ttl: \S/);
	});
}

test("deleting service account: the answer names method, path, status and body, whatever became of the bindings", async () => {
	orchestrator.fault("delete_account", { does: "answer", status: 403, body: "forbidden" });
	orchestrator.fault("delete_binding", { does: "answer", status: 500, body: "bindings" });
	const { responses } = await serve(
		"containerorch",
		[validate({ service_account: "svc-0123abcd" }), validate({ service_account: "svc-0123abcd", namespace: "apps" })],
		envOf("containerorch"),
	);
	const error = (namespace: string) =>
		`deleting service account: DELETE /api/v1/namespaces/${namespace}/serviceaccounts/svc-0123abcd: status 403: forbidden`;
	assert.deepEqual(responses, [{ error: error("default") }, { error: error("apps") }]);
	const bindings = orchestrator.calls.filter(({ step }) => step === "delete_binding").map(({ path }) => path);
	assert.equal(bindings.length, 6, "viewer, editor and admin, twice");
	orchestrator.fault("delete_account", undefined);
	orchestrator.fault("delete_binding", undefined);
});

/** Steps that no input from a caller can break. `crypto` is Node's own module, before the engine has loaded it. */
const BROKEN_STEPS: [change: string, error: string][] = [
	['crypto.generateKeyPairSync = () => { throw new Error("no entropy") }', "generating key: no entropy"],
	['crypto.randomBytes = () => { throw new Error("no entropy") }', "generating serial: no entropy"],
	["crypto.randomBytes = (size) => Buffer.alloc(size)", "generating serial: the random source failed"],
	['crypto.sign = () => { throw new Error("no signature") }', "signing certificate: no signature"],
	[
		`const make = crypto.generateKeyPairSync;
		crypto.generateKeyPairSync = (...args) => {
			const pair = make(...args);
			pair.privateKey.export = () => { throw new Error("no form") };
			return pair;
		}`,
		"marshalling key: no form",
	],
];

const breaking = (change: string) =>
	`import crypto from "node:crypto"; import { syncBuiltinESMExports } from "node:module"; ${change}; syncBuiltinESMExports();`;

for (const [change, error] of BROKEN_STEPS) {
	test(`pki failure: ${error}`, async () => {
		const lines = [generate({ common_name: "app" }), { method: "ping", params: {} }];
		const { status, responses } = await serve("pki", lines, { ...envOf("pki"), preload: breaking(change) });
		assert.deepEqual([status, responses], [0, [{ error }, { data: { status: "healthy" } }]]);
	});
}

test("pki ping: CA not loaded, when there is none and none could be made", async () => {
	const preload = breaking('crypto.generateKeyPairSync = () => { throw new Error("no entropy") }');
	const lines = [{ method: "ping", params: {} }, generate({ common_name: "app" }), validate({ certificate: "x" })];
	const { status, stderr, responses } = await serve("pki", lines, { preload });
	const error = "CA not loaded";
	assert.deepEqual([status, responses], [0, [{ error }, { error }, { error }]]);
	assert.match(stderr, /^pki: warning: .*\bno entropy$/m);
});

const BOTH = "SVC_PKI_CA_CERT and SVC_PKI_CA_KEY";
/** Settings that end a process, and what its message names. */
const EXITS: [condition: string, type: string, changes: Record<string, string>, named: string][] = [
	[
		"the API server's address cannot be resolved",
		"containerorch",
		{ SVC_ORCH_API_SERVER: "" },
		"SVC_ORCH_API_SERVER or SVC_ORCH_KUBECONFIG",
	],
	["the token cannot be resolved", "containerorch", { SVC_ORCH_TOKEN: "" }, "SVC_ORCH_TOKEN"],
	["the CA certificate is not PEM", "pki", { SVC_PKI_CA_CERT: "hunter2" }, `${BOTH}: CA certificate .*\\bPEM`],
	["the CA key is not PEM", "pki", { SVC_PKI_CA_KEY: "hunter2" }, `${BOTH}: CA private key .*\\bPEM`],
	[
		"the CA certificate cannot be parsed",
		"pki",
		{ SVC_PKI_CA_CERT: "-----BEGIN CERTIFICATE-----\nhunter2h\n-----END CERTIFICATE-----\n" },
		`${BOTH}: CA certificate .*\\bparsed`,
	],
	[
		"the CA key cannot be parsed",
		"pki",
		{ SVC_PKI_CA_KEY: "-----BEGIN PRIVATE KEY-----\nhunter2h\n-----END PRIVATE KEY-----\n" },
		`${BOTH}: CA private key .*\\bparsed`,
	],
];
for (const [condition, type, changes, named] of EXITS) {
	test(`the process ends with status 1 and says why when ${condition}`, async () => {
		const env = { ...envOf(type).env, ...changes };
		const { status, stderr, responses } = await serve(type, [{ method: "ping", params: {} }], { env });
		assert.deepEqual([status, responses], [1, []]);
		assert.match(stderr, new RegExp(`^${type}: .*\\b${named}\\b.*\n$`));
	});
}
