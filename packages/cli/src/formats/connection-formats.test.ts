import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { shellLine } from "../io/shell-line.ts";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";
import { connectionUrl, connectionVariables, kubeconfigOf } from "./connection-formats.ts";

const KEYVALUE = { username: "svc_1", password: "p", address: "redis.internal:6379", database: 2 };
const ACCOUNT = { token: "t", namespace: "apps", service_account: "svc-1", cluster_role: "view" };

const URLS: readonly (readonly [type: string, made: object, url: string])[] = [
	["keyvalue", KEYVALUE, "redis://svc_1:p@redis.internal:6379/2"],
	["keyvalue", { ...KEYVALUE, database: 0, connection: { tls: false } }, "redis://svc_1:p@redis.internal:6379"],
	["keyvalue", { ...KEYVALUE, connection: { tls: true } }, "rediss://svc_1:p@redis.internal:6379/2"],
	["keyvalue", { ...KEYVALUE, address: "[::1]:6379", database: undefined }, "redis://svc_1:p@[::1]:6379"],
	[
		"keyvalue",
		{ ...KEYVALUE, username: "a:b@c", password: "/?#%[é" },
		"redis://a%3Ab%40c:%2F%3F%23%25%5B%C3%A9@redis.internal:6379/2",
	],
	["documentdb", { connection_uri: "mongodb://a:b@h/d?authSource=x" }, "mongodb://a:b@h/d?authSource=x"],
	["totp", { url: "otpauth://totp/x" }, "otpauth://totp/x"],
];

for (const [type, made, url] of URLS) {
	test(`the address of ${type} is ${url}`, () => {
		assert.equal(connectionUrl(type, { ...made }), url);
	});
}

test("a user and a password of any characters come back from the address", () => {
	const odd = "a:b@c/d?e#f%20g h\u00e9\u{1f511}'\"\\[]";
	const url = new URL(connectionUrl("keyvalue", { ...KEYVALUE, username: odd, password: odd }));
	assert.deepEqual([url.username, url.password].map(decodeURIComponent), [odd, odd]);
	assert.equal(url.host, "redis.internal:6379");
});

test("variables have the engine's fields, those of the connection, and where to connect", () => {
	const made = { ...KEYVALUE, address: "[::1]:6379", lease_id: "l", connection: { tls: true, ca_cert: "PEM" } };
	assert.deepEqual(Object.fromEntries(connectionVariables("keyvalue", made, "my-cache")), {
		MY_CACHE_URL: "rediss://svc_1:p@[::1]:6379/2",
		MY_CACHE_HOST: "::1",
		MY_CACHE_PORT: "6379",
		MY_CACHE_USERNAME: "svc_1",
		MY_CACHE_PASSWORD: "p",
		MY_CACHE_ADDRESS: "[::1]:6379",
		MY_CACHE_DATABASE: "2",
		MY_CACHE_LEASE_ID: "l",
		MY_CACHE_TLS: "true",
		MY_CACHE_CA_CERT: "PEM",
	});
	assert.deepEqual(connectionVariables("documentdb", { username: "u", connection_uri: "mongodb://h" }), [
		["DOCUMENTDB_URI", "mongodb://h"],
		["DOCUMENTDB_USERNAME", "u"],
	]);
	assert.deepEqual(connectionVariables("pki", { san: ["a", "b"] }), [["PKI_SAN", '["a","b"]']]);
});

test("a kubeconfig says whom to believe: an authority, another name, nobody, or those that the machine knows", async () => {
	const { parse } = await import("yaml");
	const clusterOf = async (connection: object) =>
		parse(await kubeconfigOf({ ...ACCOUNT, connection })).clusters[0].cluster;
	const server = "https://10.0.0.1:6443";
	assert.deepEqual(await clusterOf({ server }), { server });
	assert.deepEqual(await clusterOf({ server, ca_cert: "PEM\n", tls_server_name: "kube" }), {
		server,
		"certificate-authority-data": Buffer.from("PEM\n").toString("base64"),
		"tls-server-name": "kube",
	});
	assert.deepEqual(await clusterOf({ server, insecure_skip_tls_verify: true }), {
		server,
		"insecure-skip-tls-verify": true,
	});
	await assert.rejects(kubeconfigOf(ACCOUNT), { kind: "unreachable" });
});

const NASTY = [
	"",
	" ",
	"'",
	"''",
	"it's",
	'"$HOME"',
	"`id`$(id)",
	"a\nb\r\n\tc\n",
	"\\'\\n",
	"#",
	"!!",
	"*~",
	"é\u{1f511}",
];

test("a shell that evaluates a line has exactly the value, whatever is in it", () => {
	for (const value of NASTY) {
		const script = `${shellLine("K", value)}printf %s. "$K"`;
		assert.equal(spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout, `${value}.`);
	}
});

test("a format that an engine's answer does not have is refused before anything is made", async () => {
	await using server = await startService(() => ({ body: {} }));
	const generate = (type: string, format: string) =>
		run(["engine", "generate", type, "--realm", "shop", "--format", format], { env: server.env });
	for (const [type, format, hint] of [
		["containerorch", "url", / env, json, kubeconfig\b/],
		["keyvalue", "kubeconfig", / env, json, url\b/],
		["pki", "url", / env, json\b/],
		["pki", "yaml", /--format\b.* url, env, kubeconfig, json\n/],
	] as const) {
		const { code, stderr } = await generate(type, format);
		assert.equal(code, 2);
		assert.match(stderr, hint);
	}
	assert.deepEqual(server.requests, []);
});

test("a credential is printed in its format alone; what to do with the lease goes to stderr", async () => {
	await using server = await startService(() => ({ body: KEYVALUE, headers: { "x-lease-id": "l" } }));
	const generate = ["engine", "generate", "keyvalue", "--realm", "shop"];
	const { code, stdout, stderr } = await run([...generate, "--format", "url"], { env: server.env });
	assert.deepEqual([code, stdout], [0, "redis://svc_1:p@redis.internal:6379/2\n"]);
	assert.match(stderr, /`svc lease revoke l --realm shop`/);
	assert.match(
		(await run([...generate, "--format", "env"], { env: server.env })).stdout,
		/^export KEYVALUE_PORT='6379'$/m,
	);
	assert.deepEqual(JSON.parse((await run([...generate, "--format", "json"], { env: server.env })).stdout), {
		...KEYVALUE,
		lease_id: "l",
	});
	await run(generate, { env: server.env });
	assert.deepEqual(
		server.requests.map(({ url }) => url.split("?")[1]),
		["connection=true", "connection=true", "connection=true", undefined],
	);
});
