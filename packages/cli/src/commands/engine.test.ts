import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const SETTINGS: readonly (readonly [text: string, value: unknown])[] = [
	["tls=true", true],
	["a=false", false],
	["a=null", null],
	["database=2", 2],
	["a=-1.5", -1.5],
	["a=007", "007"],
	["a=1e3", "1e3"],
	["address=host:6379", "host:6379"],
	["address=a=b", "a=b"],
	["ca_cert=", ""],
	['database="2"', "2"],
	['names=["a","b"]', ["a", "b"]],
	['role_capabilities={"readonly":"secrets:write"}', { readonly: "secrets:write" }],
	["a=[not JSON", "[not JSON"],
	["a=True", "True"],
];

for (const [text, value] of SETTINGS) {
	test(`--set ${text} means ${JSON.stringify(value)}`, async () => {
		await using server = await startService(() => ({ body: { status: "healthy" } }));
		assert.equal((await run(["engine", "set", "keyvalue", "--set", text], { env: server.env })).code, 0);
		assert.deepEqual(server.requests[0]?.body, { [text.split("=")[0] ?? ""]: value });
	});
}

test("a certificate and its key are taken from their files", async () => {
	await using server = await startService(() => ({ body: { status: "healthy" } }));
	await using folder = await temporaryFolder();
	const files = { ca_certificate: "CERTIFICATE\n", ca_private_key: "hunter2\n" };
	const words: string[] = [];
	for (const [name, content] of Object.entries(files)) {
		await writeFile(join(folder.path, name), content);
		words.push("--set-file", `${name}=${join(folder.path, name)}`);
	}
	const { code, stdout, stderr } = await run(["engine", "set", "pki", ...words], { env: server.env });
	assert.equal(code, 0, stderr);
	assert.deepEqual(server.requests[0]?.body, files);
	assert.doesNotMatch(stdout + stderr, /hunter2/);
});

test("a secret is asked for, or read from stdin, and never shown", async () => {
	await using server = await startService(() => ({ body: { password: "********", status: "healthy" } }));
	const { env } = server;
	const pem = "-----BEGIN KEY-----\nhunter2\n-----END KEY-----";
	const set = ["engine", "set", "keyvalue", "--set", "a=b", "--secret", "one"];
	const outcomes = [
		await run(set, { env, typed: ["hunter2\r"] }),
		await run([...set, "--secret", "two"], { env, typed: ["hunter2\r", "2\r"] }),
		await run(set, { env, stdin: `${pem}\n` }),
		await run([...set, "--secret", "two"], { env, stdin: "hunter2\r\n2\n" }),
	];
	for (const { code, stdout, stderr } of outcomes) {
		assert.equal(code, 0, stderr);
		assert.doesNotMatch(stdout + stderr, /hunter2/);
	}
	assert.match(outcomes[1]?.stderr ?? "", /^one \(hidden\): \ntwo \(hidden\): \n\r.*trying the configuration/);
	assert.deepEqual(
		server.requests.map(({ body }) => body),
		[
			{ a: "b", one: "hunter2" },
			{ a: "b", one: "hunter2", two: "2" },
			{ a: "b", one: pem },
			{ a: "b", one: "hunter2", two: "2" },
		],
	);
});

test("secrets that are missing, too many or empty are a wrong use, and nothing is sent", async () => {
	await using server = await startService(() => ({ body: { status: "healthy" } }));
	const set = ["engine", "set", "keyvalue", "--secret", "one"];
	const table: readonly (readonly [more: readonly string[], stdin: string, message: RegExp])[] = [
		[[], "\n", /\bempty\b/],
		[["--secret", "two"], "hunter2\n", /\bone line\b/],
		[["--secret", "two"], "hunter2\n\n", /\bempty\b/],
		[["--secret", "two"], "hunter2\nb\nc\n", /\bone line\b/],
		[["--secret", "one"], "hunter2\nb\n", /\btwice\b/],
		[["--set", "one=hunter2"], "b\n", /\btwice\b/],
		[["--secret", "two=hunter2"], "a\nb\n", /\bname only\b/],
		[["--from", "-"], '{"one":"hunter2"}', /\bboth\b/],
	];
	for (const [more, stdin, message] of table) {
		const { code, stderr } = await run([...set, ...more], { env: server.env, stdin });
		assert.equal(code, 2);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
	}
	assert.deepEqual(server.requests, []);
});

test("what show printed can be changed and set again", async () => {
	const shown = { address: "a:1", database: 0, password: "********", status: "healthy" };
	await using server = await startService(() => ({ body: shown }));
	await using folder = await temporaryFolder();
	const { env } = server;
	const { stdout } = await run(["engine", "show", "keyvalue", "--json"], { env });
	assert.deepEqual(JSON.parse(stdout), shown);
	const file = join(folder.path, "keyvalue.json");
	await writeFile(file, stdout);
	await run(["engine", "set", "keyvalue", "--from", file, "--set", "database=2"], { env });
	await run(["engine", "set", "keyvalue", "--from", "-", "--set", "database=2"], { env, stdin: stdout });
	const sent = { address: "a:1", database: 2, password: "********" };
	assert.deepEqual(
		server.requests.slice(1).map(({ body }) => body),
		[sent, sent],
	);
	for (const content of ['["hunter2"]', '{"password": hunter2}', "", Buffer.from([0xff])]) {
		const { code, stderr } = await run(["engine", "set", "keyvalue", "--from", "-"], { env, stdin: content });
		assert.equal(code, 2);
		assert.doesNotMatch(stderr, /hunter2/);
	}
});

test("with --force, a configuration that does not work is stored, with a warning", async () => {
	await using server = await startService(() => ({ body: { address: "a:1", status: "ping failed: refused\u001b" } }));
	const words = ["engine", "set", "keyvalue", "--set", "address=a:1", "--force"];
	const { code, stdout, stderr } = await run(words, { env: server.env });
	assert.doesNotMatch(server.requests[0]?.url ?? "", /\?/);
	assert.equal(code, 0);
	assert.match(stdout, /^status +ping failed: refused\\u001b$/m);
	assert.match(stderr, /\bstored\b/);
});

test("the realm of a configuration is never taken from the environment", async () => {
	await using server = await startService(() => ({ body: { status: "healthy", message: "gone" } }));
	const env = { ...server.env, SVC_REALM: "shop" };
	for (const command of ["set pki", "show pki", "remove pki --yes", "ping pki"])
		await run(["engine", ...command.split(" ")], { env });
	assert.deepEqual(
		server.requests.map(({ method, url }) => `${method} ${url}`),
		[
			...["PUT /api/v1/engines/pki/config?if=healthy", "GET /api/v1/engines/pki/config"],
			...["DELETE /api/v1/engines/pki/config", "POST /api/v1/engines/pki/ping"],
		],
	);
});

const CREDENTIAL = { username: "svc_1a2b3c4d", password: "p", database: 0 };
test("parameters are given with --param or --set, and a ttl also in days", async () => {
	await using server = await startService(() => ({ body: { certificate: "c" } }));
	const words = "engine generate pki --realm shop --ttl 7d --param common_name=a --set organization=Shop".split(" ");
	await run(words, { env: server.env });
	assert.deepEqual(server.requests[0]?.body, { common_name: "a", organization: "Shop", ttl: "168h" });
	await run("engine generate pki --realm shop --param ttl=1d".split(" "), { env: server.env });
	assert.deepEqual(server.requests.pop()?.body, { ttl: "24h" });
	await run("engine validate totp --realm shop --set code=007".split(" "), { env: server.env });
	assert.deepEqual(server.requests[1]?.body, { code: "007" });
});

test("the life of a service account may be given in days, too", async () => {
	await using server = await startService(() => refusal(400, "invalid_ttl", "no"));
	await run("k8s --realm shop --ttl 1d -- true".split(" "), { env: server.env });
	assert.deepEqual(server.requests[0]?.body, { role: "viewer", ttl: "24h" });
});

const GENERATE = ["engine", "generate", "keyvalue", "--role", "readonly", "--ttl", "30m"];

test("a new credential is shown with its lease and the command that ends it", async () => {
	await using server = await startService(() => ({ body: CREDENTIAL, headers: { "x-lease-id": "0190-l" } }));
	const env = { ...server.env, SVC_REALM: "shop" };
	const { stdout, stderr } = await run([...GENERATE, "--param", "n=1", "--param", 'l=["a"]', "--param", "c=true"], {
		env,
	});
	assert.equal(stdout, "username  svc_1a2b3c4d\npassword  p\ndatabase  0\nlease_id  0190-l\n");
	assert.match(stderr, /`svc lease revoke 0190-l --realm shop`/);
	const [request] = server.requests;
	assert.equal(request?.url, "/api/v1/realms/shop/engines/keyvalue/generate");
	assert.deepEqual(request?.body, { n: "1", l: ["a"], c: "true", role: "readonly", ttl: "30m" });
	const json = await run([...GENERATE, "--json"], { env });
	assert.deepEqual([JSON.parse(json.stdout), json.stderr], [{ ...CREDENTIAL, lease_id: "0190-l" }, ""]);
});

test("what has no lease is shown as it is answered, each value on one line", async () => {
	await using server = await startService(() => ({ body: { certificate: "a\nb\n", san: ["x"] } }));
	const { stdout, stderr } = await run(["engine", "generate", "pki", "--realm", "shop"], { env: server.env });
	assert.deepEqual([stdout, stderr], ['certificate  a\\nb\\n\nsan          ["x"]\n', ""]);
	assert.deepEqual(server.requests[0]?.body, {});
});

test("a param may be a secret, too", async () => {
	await using server = await startService(() => ({ body: { valid: true } }));
	const argv = ["engine", "validate", "totp", "--realm", "shop", "--secret", "secret", "--param", "code=012345"];
	const { stdout } = await run(argv, { env: server.env, stdin: "GEZDGNBV\n" });
	assert.equal(stdout, "valid  true\n");
	assert.deepEqual(server.requests[0]?.body, { code: "012345", secret: "GEZDGNBV" });
});

const TROUBLE: readonly (readonly [status: number, code: string, exit: number, hint: RegExp])[] = [
	[400, "engine_error", 1, /^svc: why\n$/],
	[404, "not_found", 4, /^svc: why\nhint: `svc engine list` /],
	[409, "lease_limit_reached", 1, /^svc: why\nhint: `svc lease list` /],
	[503, "engine_unavailable", 5, /^svc: why\nhint: .*`svc engine ping`/],
];

for (const [status, code, exit, hint] of TROUBLE) {
	test(`an engine's ${code} ends with ${exit} and says what to try`, async () => {
		await using server = await startService(() => refusal(status, code, "why"));
		const outcome = await run([...GENERATE, "--realm", "shop"], { env: server.env });
		assert.equal(outcome.code, exit);
		assert.match(outcome.stderr, hint);
	});
}

test("a ping of an engine that does not work says where to look next", async () => {
	await using server = await startService(() => refusal(503, "engine_unavailable", "why"));
	const { stderr } = await run(["engine", "ping", "keyvalue"], { env: server.env });
	assert.match(stderr, /^svc: why\nhint: `svc engine show` .*`svc engine set` .*\n$/);
});

test("certificates and keys can be copied as they are printed, and images are left to programs", async () => {
	const [certificate, private_key] = ["CERTIFICATE", "EC PRIVATE KEY"].map(
		(what) => `-----BEGIN ${what}-----\nMIIBmjCC+/\nAUCg==\n-----END ${what}-----\n`,
	);
	const qr_code = "data:image/png;base64,iVBORw0KGgo=";
	const forged = `${certificate}expires_at  2999-01-01T00:00:00Z\n`;
	const body = { certificate, private_key, qr_code, forged };
	await using server = await startService(() => ({ body }));
	const generate = ["engine", "generate", "pki", "--realm", "shop"];
	const { stdout } = await run(generate, { env: server.env });
	assert.equal(
		stdout,
		`certificate\n${certificate}private_key\n${private_key}qr_code      an image: --json has it\nforged       ${forged.replaceAll("\n", "\\n")}\n`,
	);
	assert.deepEqual(JSON.parse((await run([...generate, "--json"], { env: server.env })).stdout), body);
});
