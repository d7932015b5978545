import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createIdentity } from "../../test/peers/identity.ts";
import { kubeconfigOf } from "../../test/peers/kubernetes-config.ts";
import { readConfig } from "./config.ts";
import { ConfigError } from "./source.ts";
import { startBench } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-orch-"));
after(() => rmSync(folder, { recursive: true }));

const { ca, cert, key } = await createIdentity(["127.0.0.1"]);
const GIVEN = { SVC_ORCH_API_SERVER: "https://10.0.0.1:6443", SVC_ORCH_TOKEN: "given-token", SVC_ORCH_CA_CERT: ca };

/** Reads a configuration that may only produce these warnings. */
function read(env: Record<string, string>, warnings: RegExp[] = []) {
	const said: string[] = [];
	const config = readConfig(env, (text) => said.push(text));
	assert.equal(said.length, warnings.length, said.join("\n"));
	for (const [index, warning] of warnings.entries()) assert.match(said[index] ?? "", warning);
	const { api_server, bearerToken, tls, namespace, token_ttl } = config;
	return { api_server: api_server.href, token: bearerToken?.(), tls, namespace, token_ttl };
}

function refused(env: Record<string, string>, message: RegExp): void {
	assert.throws(
		() => readConfig(env, () => undefined),
		(error: Error) => {
			assert.ok(error instanceof ConfigError, String(error));
			assert.match(error.message, message);
			assert.doesNotMatch(error.message, /hunter2|\n/);
			return true;
		},
	);
}

function file(name: string, text: string): string {
	const path = join(folder, name);
	writeFileSync(path, text);
	return path;
}

/** Makes a mount as a pod finds it, with these files. */
function mount(name: string, files: Record<string, string>): Record<string, string> {
	mkdirSync(join(folder, name));
	for (const [each, text] of Object.entries(files)) file(join(name, each), text);
	return {
		KUBERNETES_SERVICE_HOST: "10.96.0.1",
		KUBERNETES_SERVICE_PORT: "443",
		SVC_ORCH_MOUNT: join(folder, name),
	};
}

/** Makes a kubeconfig with this cluster, user and context. */
function kubeconfig(name: string, cluster: object, user: object, context: object = {}): Record<string, string> {
	const document = {
		"current-context": "b",
		contexts: [
			{ name: "a", context: { cluster: "none", user: "none" } },
			{ name: "b", context: { cluster: "c", user: "u", ...context } },
		],
		clusters: [{ name: "c", cluster: { server: "https://kube.example.com", ...cluster } }],
		users: [{ name: "u", user }],
	};
	return { SVC_ORCH_KUBECONFIG: file(name, JSON.stringify(document)) };
}

test("address, token and CA certificate are enough; namespace and lifetime have the usual values", () => {
	assert.deepEqual(read(GIVEN), {
		api_server: "https://10.0.0.1:6443/",
		token: "given-token",
		tls: { ca },
		namespace: "default",
		token_ttl: "1h",
	});
	const { namespace, token_ttl } = read({ ...GIVEN, SVC_ORCH_NAMESPACE: "apps", SVC_ORCH_TOKEN_TTL: "30m" });
	assert.deepEqual([namespace, token_ttl], ["apps", "30m"]);
	const empty = { SVC_ORCH_NAMESPACE: "", SVC_ORCH_TOKEN_TTL: "", SVC_ORCH_KUBECONFIG: "", SVC_ORCH_SKIP_TLS: "" };
	assert.deepEqual(read({ ...GIVEN, ...empty }), read(GIVEN));
});

test("without a CA certificate the system's roots count, with an empty one or SVC_ORCH_SKIP_TLS none do, with a warning", () => {
	const { SVC_ORCH_CA_CERT: _, ...without } = GIVEN;
	const { tls } = read(without);
	assert.ok(Array.isArray(tls.ca) && tls.ca.length > 50 && tls.rejectUnauthorized === undefined);
	const unverified = { rejectUnauthorized: false };
	assert.deepEqual(read({ ...GIVEN, SVC_ORCH_CA_CERT: "" }, [/\bskipped\b/]).tls, unverified);
	assert.deepEqual(read({ ...GIVEN, SVC_ORCH_SKIP_TLS: "true" }, [/\bskipped\b/]).tls, unverified);
	for (const SVC_ORCH_SKIP_TLS of ["false", "1", "TRUE"])
		assert.deepEqual(read({ ...GIVEN, SVC_ORCH_SKIP_TLS }).tls, { ca });
});

test("plain HTTP is reported; an address may have a path", () => {
	const { api_server } = read({ ...GIVEN, SVC_ORCH_API_SERVER: "http://127.0.0.1:8001" }, [/plain HTTP/]);
	assert.equal(api_server, "http://127.0.0.1:8001/");
	assert.equal(
		read({ ...GIVEN, SVC_ORCH_API_SERVER: "https://proxy.example.com/k8s/clusters/c-1" }).api_server,
		"https://proxy.example.com/k8s/clusters/c-1",
	);
});

test("an address with a path keeps it in every call", async (t) => {
	const { fake, ping } = await startBench(t);
	const below = await startBench(t, {
		env: { SVC_ORCH_API_SERVER: `${fake.url}/k8s/`, SVC_ORCH_TOKEN: fake.token, SVC_ORCH_CA_CERT: fake.ca },
	});
	await ping();
	await assert.rejects(below.ping(), { message: /^ping failed: GET \/api\/v1\/namespaces\/default: status 404: / });
	assert.deepEqual(
		fake.calls.map(({ path }) => path),
		["/api/v1/namespaces/default", "/k8s/api/v1/namespaces/default"],
	);
});

test("what cannot be used is refused, and the error repeats none of it", () => {
	const garbage = "-----BEGIN CERTIFICATE-----\nhunter2h\n-----END CERTIFICATE-----\n";
	const address = /\baddress\b.*\bURL\b/;
	const table: [Record<string, string>, RegExp][] = [
		[{}, /\baddress\b.*\bSVC_ORCH_API_SERVER\b/],
		[{ SVC_ORCH_TOKEN: "hunter2" }, /\baddress\b.*\bresolved\b/],
		[{ SVC_ORCH_API_SERVER: "https://hunter2" }, /\btoken\b.*\bSVC_ORCH_TOKEN\b/],
		[{ ...GIVEN, SVC_ORCH_TOKEN: "" }, /\btoken\b.*\bresolved\b/],
		[{ ...GIVEN, SVC_ORCH_TOKEN: "hunter2\r\nx: y" }, /\btoken\b.*\bASCII\b/],
		[{ ...GIVEN, SVC_ORCH_TOKEN: " \n" }, /\btoken must\b/],
		[{ ...GIVEN, SVC_ORCH_API_SERVER: "hunter2:6443" }, address],
		[{ ...GIVEN, SVC_ORCH_API_SERVER: "ftp://hunter2" }, address],
		[{ ...GIVEN, SVC_ORCH_API_SERVER: "https://a:hunter2@b" }, address],
		[{ ...GIVEN, SVC_ORCH_API_SERVER: "https://b?hunter2" }, address],
		[{ ...GIVEN, SVC_ORCH_CA_CERT: "hunter2" }, /\bCA certificate\b.*\bPEM\b/],
		[{ ...GIVEN, SVC_ORCH_CA_CERT: garbage }, /\bCA certificate\b/],
		[{ ...GIVEN, SVC_ORCH_NAMESPACE: "hunter2/x" }, /\bnamespace\b.*\bDNS label\b/],
		[{ ...GIVEN, SVC_ORCH_TOKEN_TTL: "hunter2" }, /^SVC_ORCH_TOKEN_TTL: invalid ttl: /],
		[{ SVC_ORCH_KUBECONFIG: join(folder, "hunter2") }, /^kubeconfig: .*\(ENOENT\)/],
		[{ KUBERNETES_SERVICE_HOST: "10.96.0.1" }, /\baddress\b.*\bresolved\b/],
	];
	for (const [env, message] of table) refused(env, message);
});

test("in a pod everything comes from the environment and the mount", () => {
	const pod = mount("pod", { token: "mounted-token\n", "ca.crt": ca, namespace: "team\n" });
	assert.deepEqual(read(pod), {
		api_server: "https://10.96.0.1/",
		token: "mounted-token",
		tls: { ca: ca.trim() },
		namespace: "team",
		token_ttl: "1h",
	});
	assert.equal(read({ ...pod, KUBERNETES_SERVICE_HOST: "fd00::1" }).api_server, "https://[fd00::1]/");
	assert.deepEqual(
		read({ ...pod, ...GIVEN, SVC_ORCH_NAMESPACE: "apps" }),
		read({ ...GIVEN, SVC_ORCH_NAMESPACE: "apps" }),
	);
	assert.equal(read({ ...pod, SVC_ORCH_API_SERVER: "https://other" }).token, "mounted-token");
	refused(mount("tokenless", { "ca.crt": ca }), /\btoken\b.*\bresolved\b/);
	const bare = read(mount("bare", { token: "t" }));
	assert.deepEqual([bare.namespace, Array.isArray(bare.tls.ca)], ["default", true]);
	mkdirSync(join(folder, "odd/token"), { recursive: true });
	refused({ ...pod, SVC_ORCH_MOUNT: join(folder, "odd") }, /\bmount\b.*\(EISDIR\)/);
});

test("a kubeconfig's current context is what counts, and explicit values before it", () => {
	const env = {
		SVC_ORCH_KUBECONFIG: file("kubeconfig.yaml", kubeconfigOf("https://kube.example.com", ca, "its-token")),
	};
	assert.deepEqual(read(env), {
		api_server: "https://kube.example.com/",
		token: "its-token",
		tls: { ca },
		namespace: "default",
		token_ttl: "1h",
	});
	const other = read({ ...env, ...GIVEN, SVC_ORCH_CA_CERT: "", SVC_ORCH_NAMESPACE: "apps" }, [/skipped/]);
	assert.deepEqual([other.token, other.tls, other.namespace], ["given-token", { rejectUnauthorized: false }, "apps"]);
	const pod = mount("unused", { token: "mounted", "ca.crt": ca, namespace: "team" });
	assert.deepEqual(read({ ...pod, ...env }), read(env));
});

test("a kubeconfig has its texts in itself or in files next to it", () => {
	file("ca.pem", ca);
	file("client.pem", cert);
	file("client.key", key);
	file("token.txt", "from-a-file\n");
	const data = (text: string) => Buffer.from(text).toString("base64");
	const byFile = read(
		kubeconfig(
			"files.json",
			{ "certificate-authority": "ca.pem", "tls-server-name": "kube" },
			{ tokenFile: "token.txt", token: "older" },
			{ namespace: "team" },
		),
	);
	assert.deepEqual([byFile.token, byFile.tls, byFile.namespace], ["from-a-file", { ca, servername: "kube" }, "team"]);
	for (const user of [
		{ "client-certificate": "client.pem", "client-key": "client.key" },
		{ "client-certificate-data": data(cert), "client-key-data": data(key), token: "not sent" },
	]) {
		const { token, tls } = read(kubeconfig("certificate.json", { "certificate-authority-data": data(ca) }, user));
		assert.deepEqual([token, tls], [undefined, { ca, cert, key }]);
		const explicit = read({ ...kubeconfig("explicit.json", {}, user), ...GIVEN });
		assert.deepEqual([explicit.token, explicit.tls], ["given-token", { ca }]);
	}
	const skipping = kubeconfig("skip.json", { "insecure-skip-tls-verify": true }, { token: "t" });
	assert.deepEqual(read(skipping, [/skipped/]).tls, { rejectUnauthorized: false });
	assert.deepEqual(read({ ...skipping, SVC_ORCH_CA_CERT: ca }).tls, { ca });
});

test("a kubeconfig that leads nowhere is refused, and so is what only a program could answer", () => {
	let files = 0;
	const raw = (text: string) => ({ SVC_ORCH_KUBECONFIG: file(`raw-${files++}.yaml`, text) });
	const made = (...parts: [cluster: object, user: object, context?: object]) =>
		kubeconfig(`made-${files++}.json`, ...parts);
	const unsupported = (name: string) => new RegExp(`^kubeconfig: ${name} .*\\bnot supported\\b`);
	const certificate = { "client-certificate-data": "hunter2", "client-key-data": "hunter2" };
	const table: [Record<string, string>, RegExp][] = [
		[raw("a: [hunter2"), /^kubeconfig: .*\bYAML\b/],
		[raw("a: hunter2\na: hunter2"), /^kubeconfig: .*\bYAML\b/],
		[raw("hunter2"), /^kubeconfig: .*\bmapping\b/],
		[raw(""), /^kubeconfig: .*\bmapping\b/],
		[raw("kind: Config"), /^kubeconfig: current-context .*\bmissing\b/],
		[raw("current-context: hunter2"), /^kubeconfig: .*\bcontext of the current context\b/],
		[raw("current-context: [hunter2]"), /^kubeconfig: current-context .*\btext\b/],
		[made({}, {}, { cluster: "hunter2" }), /^kubeconfig: .*\bcluster of\b/],
		[made({}, {}, { user: "hunter2" }), /^kubeconfig: .*\buser of\b/],
		[made({}, {}), /\btoken\b.*\bresolved\b/],
		[made({ server: "" }, { token: "t" }), /\baddress\b.*\bresolved\b/],
		[made({}, { exec: { command: "hunter2" } }), unsupported("exec")],
		[made({}, { "auth-provider": { name: "hunter2" } }), unsupported("auth-provider")],
		[made({}, { token: "t", as: "hunter2" }), unsupported("as")],
		[made({ "proxy-url": "http://hunter2" }, { token: "t" }), unsupported("proxy-url")],
		[made({}, { token: 5 }), /^kubeconfig: token .*\btext\b/],
		[made({}, { tokenFile: "hunter2" }), /\btoken file\b.*\(ENOENT\)/],
		[made({ "certificate-authority": "hunter2" }, { token: "t" }), /^kubeconfig: .*\bread\b/],
		[made({}, certificate), /^kubeconfig: .*\bclient certificate\b/],
	];
	for (const [env, message] of table) refused(env, message);
});

test("a token in a file is read again for every call, and nothing is asked without it", async (t) => {
	const { fake } = await startBench(t);
	const tokenFile = file("rotating", "an-old-token");
	const { ping } = await startBench(t, {
		env: {
			...kubeconfig("rotating.json", {}, { tokenFile }),
			SVC_ORCH_API_SERVER: fake.url,
			SVC_ORCH_TOKEN: undefined,
			SVC_ORCH_CA_CERT: fake.ca,
		},
	});
	await assert.rejects(ping(), { message: /^ping failed: .*: status 401/ });
	writeFileSync(tokenFile, `${fake.token}\n`);
	await ping();
	rmSync(tokenFile);
	fake.steps();
	await assert.rejects(ping(), { message: /^ping failed: .*\btoken file\b.*\(ENOENT\)$/ });
	assert.deepEqual(fake.steps(), []);
});

test("the name in the certificate may be another than the address, if the kubeconfig says so", async (t) => {
	const { ping } = await startBench(t, {
		env: kubeconfig("name.json", { "tls-server-name": "kube.example.com" }, {}),
		fake: { names: ["kube.example.com"] },
	});
	await ping();
});
