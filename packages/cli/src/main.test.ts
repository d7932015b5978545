import assert from "node:assert/strict";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import test from "node:test";
import { saveServer } from "./client/session.ts";
import { type FakeAnswer, page, refusal, startFake } from "./testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "./testing/terminal.ts";

const STATUSES: readonly (readonly [answer: FakeAnswer, code: number, hint: RegExp])[] = [
	[page("realms", []), 0, /^no realms yet/],
	[refusal(400, "invalid_cursor", "cursor is not one of ours"), 1, /^svc: cursor is not one of ours\n$/],
	[refusal(401, "unauthorized", "token is missing or not valid"), 3, /hint: .*svc login/],
	[refusal(403, "insufficient_scope", "scope read is missing"), 3, /^svc: scope read is missing\n$/],
	[refusal(404, "not_found", "realm not found"), 4, /^svc: realm not found/],
	[refusal(409, "conflict", "slug is taken"), 1, /^svc: slug is taken/],
	[refusal(429, "rate_limited", "too many", { "retry-after": "17" }), 1, /hint: try again in 17 seconds/],
	[refusal(500, "internal_error", "internal error"), 5, /hint: .*svc health/],
	[refusal(503, "unhealthy", "the store is away"), 5, /^svc: the store is away/],
	[{ status: 302, body: {}, headers: { location: "https://elsewhere.example" } }, 5, /\bstatus 302\b/],
	[{ status: 502, body: "<html>" }, 5, /\bstatus 502\b/],
	[{ body: "<html>" }, 5, /\bno svc server\b/],
	[{ body: "[1]" }, 5, /\bno svc server\b/],
	[{ body: { realms: [1] } }, 5, /\bno realms\b/],
	[{ body: { realms: [] } }, 5, /\bno pagination\b/],
	[refusal(400, "x", "evil \u001b[2J"), 1, /^svc: evil \\u001b\[2J\n$/],
];

for (const [answer, code, hint] of STATUSES) {
	test(`the answer ${JSON.stringify(answer)} ends the process with ${code}`, async () => {
		await using server = await startFake(() => answer, { plain: true });
		const env = { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address };
		const outcome = await run(["realm", "list"], { env });
		assert.equal(outcome.code, code);
		assert.equal(outcome.stdout, "");
		assert.match(outcome.stderr, hint);
		assert.equal(server.requests.length, 1, "nothing is sent twice");
	});
}

test("with --json an error is the server's own error object on stderr", async () => {
	await using server = await startFake(() => refusal(404, "not_found", "realm not found"), { plain: true });
	const env = { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address };
	for (const argv of [
		["realm", "show", "shop", "--json"],
		["--json", "realm", "show", "shop"],
	]) {
		const { code, stdout, stderr } = await run(argv, { env });
		assert.deepEqual([code, stdout], [4, ""]);
		assert.deepEqual(JSON.parse(stderr), { error: { code: "not_found", message: "realm not found", status: 404 } });
	}
});

const USAGE: readonly (readonly string[])[] = [
	[],
	["secret"],
	["nonsense"],
	["secret", "KEY=hunter2"],
	["secret", "set", "--realm", "shop", "KEY", "two", "hunter2"],
	["secret", "set", "--realm", "shop", "KEY", "-hunter2"],
	["secret", "set", "--realm", "shop", "KEY=a", "hunter2"],
	["secret", "set", "KEY", "hunter2"],
	["secret", "get", "KEY", "--realm", "shop", "--env", "production"],
	["secret", "get", "KEY", "--realm", "shop", "--version", "0"],
	["secret", "get", "", "--realm", "shop"],
	["secret", "list", "--realm", "shop", "--env", "dev", "--all-environments"],
	["realm", "delete", "shop"],
	["realm", "create"],
	["realm", "list", "--relam", "shop"],
	["audit", "--limit", "many"],
	["login", "--password-stdin"],
	["engine", "set", "keyvalue", "--set", "hunter2"],
	["engine", "set", "keyvalue", "--set", "=hunter2"],
	["engine", "set", "keyvalue", "--secret", "password=hunter2"],
	["engine", "set", "keyvalue", "--set", "password=hunter2", "--secret", "password"],
	["engine", "set", "keyvalue", "--from", "-", "--secret", "password"],
	["engine", "generate", "keyvalue"],
	["lease", "show", "i"],
	["lease", "list", "--realm", "shop", "--all-realms"],
	["lease", "revoke-all"],
	["lease", "revoke-all", "--realm", "shop"],
	["lease", "abandon", "i"],
	["lease", "list", "--realm", "shop", "--state", "hunter2"],
	["lease", "list", "--realm", "shop", "--state", "it's ' hunter2 ' is invalid. Allowed choices are x."],
	["realm", "list", "--address", "http://vault.example.com"],
	["realm", "list", "--address", "vault"],
	["realm", "list", "--address", "https://user:hunter2@vault.example.com"],
];

for (const argv of USAGE) {
	test(`svc ${argv.join(" ")} is a wrong use, and no word that may be a secret is repeated`, async () => {
		const { code, stdout, stderr } = await run(argv, { env: { SVC_TOKEN: "svc_token", HOME: "/nonexistent" } });
		assert.deepEqual([code, stdout], [2, ""]);
		assert.notEqual(stderr, "");
		assert.doesNotMatch(stderr, /hunter2/);
	});
}

test("without a login, svc fails without contacting any server", async () => {
	const { code, stderr } = await run(["realm", "list"], { env: {} });
	assert.equal(code, 3);
	assert.match(stderr, / https:\/\/localhost:8443\nhint: `svc login`/);
});

test("a refused SVC_TOKEN is named, since a login would not replace it; a refused session is not", async () => {
	const message = "a valid token is needed: sign in with `svc login`";
	await using server = await startFake(() => refusal(401, "unauthorized", message), { plain: true });
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	await saveServer(fakeIo({ env }).io, server.address, { token: "session" });
	const given = await run(["realm", "list"], { env: { ...env, SVC_TOKEN: "svc_old" } });
	assert.match(given.stderr, /\nhint: .*\bSVC_TOKEN\b.*`svc login`/);
	assert.equal((await run(["realm", "list"], { env })).stderr, `svc: ${message}\n`);
});

test("http:// to a server with TLS is answered with the advice to use https://", async () => {
	await using server = await startFake(() => page("realms", []));
	const env = { SVC_TOKEN: "t", SVC_ADDRESS: server.address.replace("https:", "http:") };
	const { code, stderr } = await run(["realm", "list"], { env });
	assert.equal(code, 5);
	assert.match(stderr, /\nhint: .* https:\/\//);
});

test("a file that cannot be opened is named in plain words", async () => {
	const { code, stderr } = await run(["import", "/nonexistent/.env", "--realm", "shop"], { env: { SVC_TOKEN: "t" } });
	assert.equal(code, 1);
	assert.match(stderr, /^svc: .* \/nonexistent\/\.env: no such file\b.*\n$/);
});

test("a server that is not there, or that never answers properly, ends the process with 5", async () => {
	const mute = net.createServer((socket) => socket.resume().end("nonsense\r\n\r\n"));
	mute.listen(0, "127.0.0.1");
	await once(mute, "listening");
	const { port } = mute.address() as AddressInfo;
	const list = (scheme: string) =>
		run(["realm", "list"], { env: { SVC_TOKEN: "t", SVC_ADDRESS: `${scheme}://127.0.0.1:${port}` } });
	const outcomes = [await list("http"), await list("https")];
	mute.close();
	await once(mute, "close");
	for (const { code, stderr } of [...outcomes, await list("https")]) {
		assert.equal(code, 5, stderr);
		assert.match(stderr, / https?:\/\/127\.0\.0\.1:\d+: .*\nhint: /);
	}
});

test("the token of the session file goes only to the address that it came from", async () => {
	await using first = await startFake(() => page("realms", []), { plain: true });
	await using second = await startFake(() => page("realms", []), { plain: true });
	await using home = await temporaryFolder();
	const env = { HOME: home.path };
	await saveServer(fakeIo({ env }).io, first.address, { token: "first-token" });
	assert.equal((await run(["realm", "list"], { env })).code, 0);
	assert.equal((await run(["realm", "list", "--address", second.address], { env })).code, 3);
	assert.equal((await run(["realm", "list"], { env: { ...env, SVC_ADDRESS: second.address } })).code, 3);
	assert.equal(first.requests[0]?.headers.authorization, "Bearer first-token");
	assert.deepEqual(second.requests, []);
});

test("the help of svc lists its commands by what they are for, none of them elsewhere", async () => {
	const { stdout } = await run(["--help"]);
	const headings = [...stdout.matchAll(/^(?!Usage)([A-Z][^\n]*):$/gm)].map(([, heading]) => heading);
	assert.deepEqual(headings.slice(0, 7), [
		...["Options", "Common options", "Your account", "Realms and secrets"],
		...["Credentials that end by themselves", "Looking after the server", "This machine"],
	]);
});

test("a value that an option has by default is in the help", async () => {
	assert.match((await run(["run", "--help"])).stdout, /--watch-interval .*\b60s\b/);
});

test("--version shows the version of the client", async () => {
	assert.match((await run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
});
