import assert from "node:assert/strict";
import test from "node:test";
import { readSession } from "../client/session.ts";
import { refusal } from "../testing/fake-server.ts";
import { LOGIN, startProviders } from "../testing/provider.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

const { token, ...SHOWN } = LOGIN;

for (const [provider, type] of [
	["corp", "oidc"],
	["old", "saml"],
] as const) {
	test(`svc login --sso waits for a browser that signs in with ${type}, and remembers the session`, async () => {
		await using server = await startProviders();
		await using home = await temporaryFolder();
		const { address, heard } = server;
		const env = { HOME: home.path, SVC_ADDRESS: address };
		const { code, stdout, stderr } = await run(["login", "--sso", provider, "--json"], { env, heard });
		assert.equal(code, 0, stderr);
		assert.deepEqual(JSON.parse(stdout), SHOWN);
		const login = new RegExp(
			`^open this address in a browser to sign in:\n${address}/api/v1/auth/${type}/${provider}/login\\?cli_port=\\d{4,5}&cli_challenge=[\\w-]{43}\n$`,
		);
		assert.match(stderr, login);
		assert.deepEqual((await readSession(fakeIo({ env }).io)).servers[address], LOGIN);
		assert.deepEqual(
			server.requests.map(({ method, url, headers }) => [method, url, headers.authorization]),
			[
				["GET", "/api/v1/auth/providers", undefined],
				["POST", "/api/v1/auth/sso/token", undefined],
			],
		);
	});
}

test("svc login --sso --again has the provider ask who it is", async () => {
	await using server = await startProviders();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const { code, stderr } = await run(["login", "--sso", "corp", "--again"], { env, heard: server.heard });
	assert.equal(code, 0, stderr);
	assert.match(stderr, /&again=true\n$/);
});

test("over SSH, svc says where the browser must run", async () => {
	await using server = await startProviders();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address, SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" };
	const { stderr } = await run(["login", "--sso", "corp", "--no-browser"], { env, heard: server.heard });
	const [, port] = /cli_port=(\d+)/.exec(stderr) ?? [];
	assert.ok(stderr.includes(`\`ssh -L ${port}:127.0.0.1:${port}\``), stderr);
});

test("svc login --ldap sends the directory's password, which is asked for or read from stdin", async () => {
	await using server = await startProviders();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const login = ["login", "--ldap", "directory"];
	const outcomes = [
		await run([...login, "ada", "--password-stdin"], { env, stdin: "correct horse\n" }),
		await run(login, { env, typed: ["ada\n", "correct horse\r"] }),
	];
	for (const { code, stdout, stderr } of outcomes) {
		assert.equal(code, 0, stderr);
		assert.match(stdout, / http:\S+ .*\bada@example\.com\n$/);
		assert.ok(!(stdout + stderr).includes("horse"));
	}
	assert.equal(outcomes[1]?.stderr, "User name: Password: \n");
	assert.equal((await readSession(fakeIo({ env }).io)).servers[server.address]?.token, token);
	const sent = server.requests.filter(({ method }) => method === "POST");
	assert.deepEqual(
		sent.map(({ url, body }) => [url, body]),
		outcomes.map(() => ["/api/v1/auth/ldap/directory/login", { username: "ada", password: "correct horse" }]),
	);
});

const WRONG: readonly (readonly [words: string, code: number, message: RegExp])[] = [
	["--sso corp --ldap directory", 2, /--sso\b.*--ldap\b/],
	["--sso corp ada@example.com", 2, /^svc: --sso /],
	["--sso corp --password-stdin", 2, /^svc: --sso /],
	["--sso directory", 2, /^svc: .*\nhint: `svc login --ldap` /],
	["--ldap corp ada --password-stdin", 2, /^svc: .*\nhint: `svc login --sso` /],
	["--ldap directory --password-stdin", 2, /\bno user name\b/],
	["--again ada@example.com", 2, /^svc: --again /],
	["--again --ldap directory ada", 2, /--again\b.*--ldap\b/],
	["--sso nobody", 4, /provider nobody .*\nhint: `svc sso list`/],
	["--ldap nobody ada --password-stdin", 4, /provider nobody .*\nhint: `svc sso list`/],
	["--sso", 2, /argument missing/],
];

for (const [words, code, message] of WRONG) {
	test(`svc login ${words} ends with ${code} before anybody signs in`, async () => {
		await using server = await startProviders();
		await using home = await temporaryFolder();
		const env = { SVC_ADDRESS: server.address, HOME: home.path };
		const outcome = await run(["login", ...words.split(" ")], { env, stdin: "hunter2\n", heard: server.heard });
		assert.equal(outcome.code, code, outcome.stderr);
		assert.match(outcome.stderr, message);
		assert.doesNotMatch(outcome.stderr, /hunter2/);
		assert.deepEqual(
			server.requests.filter(({ method }) => method === "POST"),
			[],
		);
	});
}

const REFUSALS: readonly (readonly [status: number, code: string, message: string, exit: number, hint: RegExp])[] = [
	[401, "unauthorized", "the login was refused: try again", 3, /^svc: the login was refused: try again\n$/m],
	[401, "invalid_credentials", "invalid username or password", 3, /^svc: invalid username or password\n$/m],
	[409, "conflict", "link it with `svc account link corp`", 1, /^svc: link it with `svc account link corp`\n$/m],
	[503, "provider_unavailable", "it cannot be asked", 5, /^svc: it cannot be asked\nhint: .*`svc sso test`/m],
];

for (const [status, code, message, exit, hint] of REFUSALS) {
	test(`a login that is refused with ${code} ends with ${exit}, and nothing is remembered`, async () => {
		await using server = await startProviders(refusal(status, code, message));
		await using home = await temporaryFolder();
		const env = { HOME: home.path, SVC_ADDRESS: server.address };
		const outcome = await run(["login", "--sso", "corp"], { env, heard: server.heard });
		assert.equal(outcome.code, exit, outcome.stderr);
		assert.match(outcome.stderr, hint);
		assert.deepEqual((await readSession(fakeIo({ env }).io)).servers, {});
	});
}

for (const [error, exit, text] of [
	["provider_unavailable", 5, /^svc: .*\bunavailable\nhint: .*`svc sso test`/m],
	["rate_limited", 1, /^svc: too many .*\nhint: .*\blater\n$/m],
	["unauthorized", 3, /^svc: .*\brefused\b.*\baudit log\b.*\n$/m],
	["constructor", 3, /^svc: .*\brefused\b/m],
] as const) {
	test(`a browser that the server sends back with ${error} ends the login with ${exit}`, async () => {
		await using server = await startProviders();
		await using home = await temporaryFolder();
		const heard = (text: string): void => {
			const [, port] = /cli_port=(\d+)/.exec(text) ?? [];
			if (port !== undefined) void fetch(`http://127.0.0.1:${port}/?error=${error}`);
		};
		const env = { HOME: home.path, SVC_ADDRESS: server.address };
		const outcome = await run(["login", "--sso", "corp"], { env, heard });
		assert.equal(outcome.code, exit, outcome.stderr);
		assert.match(outcome.stderr, text);
		assert.ok(server.requests.every(({ method }) => method === "GET"));
	});
}

test("a first sign-in sends the code of an invitation, given or asked for, and a login with a password takes none", async () => {
	await using server = await startProviders();
	await using home = await temporaryFolder();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const { heard } = server;
	const login = ["login", "--ldap", "directory", "ada"];
	await run([...login, "--password-stdin", "--invite", "c0de"], { env, stdin: "correct horse\n" });
	await run([...login, "--invite", "-"], { env, typed: ["c0de\r", "correct horse\r"] });
	await run(["login", "--sso", "corp", "--invite", "c0de"], { env, heard });
	const sent = server.requests.filter(({ method }) => method === "POST").map(({ body }) => Object(body).invitation);
	assert.deepEqual(sent, ["c0de", "c0de", "c0de"]);
	assert.equal((await run(["login", "ada@example.com", "--invite", "c0de"], { env })).code, 2);
});
