import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { runCli } from "../main.ts";
import { type FakeAnswer, page, startFake, startService } from "../testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

const WRITTEN = {
	key: "K",
	environment: "dev",
	version: 3,
	created_at: "2030-01-01T00:00:00Z",
	updated_at: "2030-01-01T00:00:00Z",
};

const envOf = (address: string) => ({ SVC_TOKEN: "svc_token", SVC_ADDRESS: address, SVC_REALM: "shop" });

async function withAnswer(answer: FakeAnswer) {
	const server = await startFake(() => answer, { plain: true });
	return Object.assign(server, { env: envOf(server.address) });
}

test("a value from a pipe is taken byte for byte, and --trim drops one line break", async () => {
	await using server = await withAnswer({ status: 201, body: WRITTEN });
	const stdin = "-----BEGIN KEY-----\r\nü\u0000\n\n";
	const { code, stdout } = await run(["secret", "set", "tls/key"], { env: server.env, stdin });
	assert.equal(code, 0);
	assert.match(stdout, /^tls\/key .* shop\/dev, version 3\n$/);
	await run(["secret", "set", "K", "--trim", "--env", "prod"], { env: server.env, stdin });
	assert.deepEqual(
		server.requests.map(({ body }) => body),
		[
			{ key: "tls/key", value: stdin, environment: "dev" },
			{ key: "K", value: stdin.slice(0, -1), environment: "prod" },
		],
	);
});

test("a value may be on the command line, in a file, or be typed hidden", async () => {
	await using server = await withAnswer({ status: 201, body: WRITTEN });
	await using folder = await temporaryFolder();
	const file = join(folder.path, "value");
	await writeFile(file, "from a file\n");
	const { env } = server;
	await run(["secret", "set", "K", "as a word"], { env });
	await run(["secret", "set", "K=a=b"], { env });
	await run(["secret", "set", "K", "--", "-dash"], { env });
	await run(["secret", "set", "K", "--from-file", file], { env });
	const typed = await run(["secret", "set", "K"], { env, typed: ["hidden value\r"] });
	assert.deepEqual(
		server.requests.map(({ body }) => (body as { value: string }).value),
		["as a word", "a=b", "-dash", "from a file\n", "hidden value"],
	);
	assert.doesNotMatch(typed.stderr + typed.stdout, /hidden value/);
});

test("the further fields of a secret are sent only when they are given", async () => {
	await using server = await withAnswer({ status: 201, body: WRITTEN });
	const flags = ["--comment", "why", "--expires-at", "2030-01-01T00:00:00Z", "--pre-encrypted"];
	await run(["secret", "set", "K", "svc:v1:x", ...flags], { env: { ...server.env, SVC_ENV: "test" } });
	assert.deepEqual(server.requests[0]?.body, {
		key: "K",
		value: "svc:v1:x",
		environment: "test",
		comment: "why",
		expires_at: "2030-01-01T00:00:00Z",
		pre_encrypted: true,
	});
});

test("a write names the version that it may replace, none or a number", async () => {
	await using server = await withAnswer({ status: 201, body: WRITTEN });
	for (const version of ["0", "3"]) await run(["set", "K", "v", "--if-version", version], { env: server.env });
	const refused = await run(["set", "K", "v", "--if-version", "-1"], { env: server.env });
	assert.deepEqual([refused.code, server.requests.length], [2, 2]);
	assert.deepEqual(
		server.requests.map(({ body }) => (body as { if_version: unknown }).if_version),
		[null, 3],
	);
});

test("an empty value and one that is not UTF-8 are refused before anything is sent", async () => {
	await using server = await withAnswer({ status: 201, body: WRITTEN });
	assert.equal((await run(["secret", "set", "K"], { env: server.env })).code, 2);
	const keystore = await run(["secret", "set", "K"], { env: server.env, stdin: Buffer.from([0x66, 0xff]) });
	assert.equal(keystore.code, 2);
	assert.match(keystore.stderr, /\bUTF-8\b.*\nhint: `base64 --wrap=0 FILE \| svc secret set KEY`/);
	assert.equal((await run(["secret", "set", "K="], { env: server.env })).code, 2);
	assert.deepEqual(server.requests, []);
});

test("get prints exactly the value, raw, and a line break after it only on a terminal", async () => {
	const value = "-----BEGIN\r\n\u001b[31mü\u0000";
	await using server = await withAnswer({ body: { ...WRITTEN, value } });
	const piped = await run(["secret", "get", "tls/key", "--version", "2"], { env: server.env });
	assert.deepEqual(piped.bytes, Buffer.from(value));
	assert.equal((await run(["secret", "get", "tls/key"], { env: server.env, typed: [] })).stdout, `${value}\n`);
	assert.deepEqual(
		server.requests.map(({ method, url }) => `${method} ${url}`),
		[
			"GET /api/v1/realms/shop/secrets/tls%2Fkey?env=dev&version=2",
			"GET /api/v1/realms/shop/secrets/tls%2Fkey?env=dev",
		],
	);
	assert.equal(JSON.parse((await run(["secret", "get", "K", "--json"], { env: server.env })).stdout).value, value);
});

test("a value that cannot be written out is a failure, and a reader that left is none", async () => {
	await using server = await withAnswer({ body: { ...WRITTEN, value: "value" } });
	const { io, outcome } = fakeIo({ env: server.env });
	const full = Object.assign(createWriteStream("/dev/full"), { isTTY: false });
	assert.equal(await runCli(["secret", "get", "K"], { ...io, stdout: full }), 1);
	assert.match(outcome(1).stderr, /ENOSPC/);
	const left = Object.assign(createWriteStream("/dev/null"), { isTTY: false }).destroy();
	assert.equal(await runCli(["secret", "get", "K"], { ...io, stdout: left }), 0);
});

test("list shows no values unless asked, neither as a table nor as JSON", async () => {
	await using server = await withAnswer(page("secrets", [{ ...WRITTEN, key: "A", value: "hunter2\n" }]));
	const list = async (...flags: string[]) => (await run(["secret", "list", ...flags], { env: server.env })).stdout;
	assert.equal(await list(), "KEY  ENV  VERSION  UPDATED\nA    dev  3        2030-01-01T00:00:00Z\n");
	assert.doesNotMatch(await list("--json"), /hunter2/);
	assert.match(await list("--show-values"), /hunter2\\n$/m);
	assert.equal(JSON.parse(await list("--json", "--show-values")).secrets[0].value, "hunter2\n");
	await list("--all-environments");
	assert.deepEqual(
		new Set(server.requests.map(({ url }) => url.replace("/api/v1/realms/shop/secrets?", ""))),
		new Set(["env=dev&values=false&limit=100", "env=dev&limit=100", "values=false&limit=100"]),
	);
});

const DELETED = { deleted_at: "t", deleted_by: "m", deleted_by_machine: "shop/deploy", purge_at: "p" };

test("a secret is deleted permanently only after a yes, and restored by key or by id", async () => {
	await using server = await startFake(
		({ url }) =>
			url.includes("deleted=true")
				? page("secrets", [{ key: "A", environment: "dev", version: 2, id: "d1", ...DELETED }])
				: { body: WRITTEN },
		{ plain: true },
	);
	const env = envOf(server.address);
	const unasked = await run(["secret", "delete", "A", "--purge"], { env });
	assert.match(unasked.stderr, /--yes\b/);
	const purged = await run(["secret", "delete", "A", "--purge", "--yes"], { env });
	assert.match(purged.stdout, /^A .* shop\/dev /);
	assert.match(
		(await run(["secret", "list", "--deleted"], { env })).stdout,
		/A +dev +2 +t +machine:shop\/deploy +p +d1/,
	);
	const restored = ["secret", "restore", "A"];
	assert.match((await run(restored, { env })).stdout, /^A .* shop\/dev, version 3\n$/);
	await run([...restored, "--id", "d1"], { env });
	assert.deepEqual(
		server.requests.map(({ method, url, body }) => [method, url.replace("/api/v1/realms/shop/secrets", ""), body]),
		[
			["DELETE", "/A?env=dev&purge=true", undefined],
			["GET", "?env=dev&deleted=true&limit=100", undefined],
			["POST", "/A/restore?env=dev", {}],
			["POST", "/A/restore?env=dev", { id: "d1" }],
		],
	);
});

test("delete, history and rollback name their environment", async () => {
	await using server = await startFake(
		({ url }) =>
			url.includes("versions")
				? page("versions", [
						{ version: 2, created_at: "t", created_by: "u", email: "ada@a.example", comment: "c\u001b" },
					])
				: { body: WRITTEN },
		{ plain: true },
	);
	const env = envOf(server.address);
	assert.match(
		(await run(["secret", "delete", "a/b"], { env })).stdout,
		/^a\/b .* shop\/dev; `svc secret restore a\/b --realm shop --env dev` .* 30 days\n$/,
	);
	assert.match((await run(["secret", "history", "a/b"], { env })).stdout, /2 +t +ada@a\.example +c\\u001b/);
	assert.match(
		(await run(["secret", "rollback", "a/b", "2"], { env })).stdout,
		/^a\/b in shop\/dev .* version 2 .* version 3\n$/,
	);
	assert.deepEqual(
		server.requests.map(({ method, url, body }) => [method, url, body]),
		[
			["DELETE", "/api/v1/realms/shop/secrets/a%2Fb?env=dev", undefined],
			["GET", "/api/v1/realms/shop/secrets/a%2Fb/versions?env=dev&names=true&limit=100", undefined],
			["POST", "/api/v1/realms/shop/secrets/a%2Fb/rollback?env=dev", { version: 2 }],
		],
	);
});

test("--search finds keys that contain a text, and the short forms do what they are short for", async () => {
	const secret = { environment: "dev", version: 1, updated_at: "2030-01-01T00:00:00Z", value: "v" };
	const secrets = ["DATABASE_URL", "API_KEY", "old_database"].map((key) => ({ ...secret, key }));
	await using server = await startService(({ url }) => ({
		body: /secrets\?/.test(url) ? page("secrets", secrets).body : secret,
	}));
	const env = { ...server.env, SVC_REALM: "shop" };
	const { stdout } = await run(["ls", "--search", "Database", "--json"], { env });
	assert.deepEqual(
		JSON.parse(stdout).secrets.map(({ key }: { key: string }) => key),
		["DATABASE_URL", "old_database"],
	);
	assert.match((await run(["ls", "--search", "queue"], { env })).stderr, /\b3 keys\b/);
	assert.equal((await run(["get", "API_KEY"], { env })).stdout, "v");
	assert.match((await run(["set", "API_KEY=w"], { env })).stdout, /^API_KEY .* shop\/dev, version 1\n$/);
	assert.deepEqual(
		server.requests.map(({ method, url }) => `${method} ${url.replace(/\?.*/, "").split("/v1/")[1]}`),
		["GET", "GET", "GET", "POST"].map(
			(method, index) => `${method} realms/shop/secrets${index === 2 ? "/API_KEY" : ""}`,
		),
	);
});

test("an empty list names its environment", async () => {
	await using server = await startService(() => page("secrets", []));
	const env = { ...server.env, SVC_REALM: "shop" };
	const hint = async (...flags: string[]) => (await run(["ls", ...flags], { env })).stderr;
	assert.match(await hint(), / shop\/dev\b.*`svc secret set`.* --env /);
	assert.match(await hint("--env", "prod"), / shop\/prod\b/);
	assert.match(await hint("--all-environments"), / shop\b/);
});
