import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { readSession } from "../client/session.ts";
import { type FakeAnswer, refusal, startFake } from "../testing/fake-server.ts";
import { LOGIN } from "../testing/provider.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

const PASSWORD = "correct horse battery";
const CODE = "Code-_".padEnd(32, "x");

/** Starts a server that has no account yet and wants the code, or that answers a registration with something else. */
function startNew(answer?: FakeAnswer) {
	return startFake(
		({ url, body }) => {
			if (url === "/api/v1/auth/login") return { body: LOGIN };
			if (url === "/api/v1/realms") return { status: 201, body: { slug: "shop" } };
			const { setup_code } = body as { setup_code: string };
			if (answer !== undefined) return answer;
			if (setup_code !== CODE) return refusal(403, "registration_admin_only", "the first account needs the setup code");
			return { status: 201, body: { id: "u1", email: "ada@example.com" } };
		},
		{ plain: true },
	);
}

test("a new server is set up by a person who types the code: account, session and realm", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const typed = ["ada@example.com\r", `${PASSWORD}\r`, `${PASSWORD}\r`, `${CODE}\r`];
	const { code, stdout, stderr } = await run(["init", "--realm", "shop"], { env, typed });
	assert.equal(code, 0, stderr);
	assert.match(stdout, /^ada@example\.com .* http.*\nrealm shop .*\nnext: /);
	assert.ok(![stdout, stderr].some((text) => text.includes(CODE) || text.includes(PASSWORD)));
	const { servers } = await readSession(fakeIo({ env }).io);
	assert.equal(servers[server.address]?.token, LOGIN.token);
	assert.deepEqual(
		server.requests.map(({ url, headers }) => [url, headers.authorization]),
		[
			["/api/v1/auth/register", undefined],
			["/api/v1/auth/register", undefined],
			["/api/v1/auth/login", undefined],
			["/api/v1/realms", `Bearer ${LOGIN.token}`],
		],
	);
});

test("nobody has to be there when password and code come from files", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const file = join(home.path, "setup-code");
	const words = ["init", "ada@example.com", "--password-stdin", "--setup-code-file", file, "--json"];
	await writeFile(file, `${CODE}\n`);
	const { code, stdout, stderr } = await run(words, { env, stdin: `${PASSWORD}\n` });
	assert.equal(code, 0, stderr);
	assert.deepEqual(JSON.parse(stdout), { user: { id: "u1", email: "ada@example.com" }, address: server.address });
	await writeFile(file, `${CODE.toLowerCase()}\n`);
	const wrong = await run(words, { env, stdin: `${PASSWORD}\n` });
	assert.deepEqual([wrong.code, JSON.parse(wrong.stderr).error.code], [3, "registration_admin_only"]);
});

test("a wrong setup code that was typed is called wrong", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const typed = [`${PASSWORD}\r`, `${PASSWORD}\r`, "another code\r"];
	const { code, stderr } = await run(["init", "ada@example.com"], { env, typed });
	assert.equal(code, 3);
	assert.match(stderr, /\bsetup code\b.*\nhint: .*\bsetup-code\b/);
});

test("anything that is not a setup code is not sent, whatever is in its place", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const file = join(home.path, "setup-code");
	for (const content of ["", "a password of root's\n", `${CODE}x\n`, "0123456789abcdef".repeat(4)]) {
		await writeFile(file, content);
		const words = ["init", "ada@example.com", "--password-stdin", "--setup-code-file", file];
		const env = { HOME: home.path, SVC_ADDRESS: server.address };
		const { code, stderr } = await run(words, { env, stdin: `${PASSWORD}\n` });
		assert.deepEqual([code, server.requests.length], [2, 0]);
		assert.match(stderr, /--setup-code-file/);
	}
});

test("a setup code that is not there any more leads to svc login", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const words = ["init", "ada@example.com", "--password-stdin", "--setup-code-file", join(home.path, "setup-code")];
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const { code, stderr } = await run(words, { env, stdin: `${PASSWORD}\n` });
	assert.deepEqual([code, server.requests.length], [1, 0]);
	assert.match(stderr, /\nhint: .*`svc login`/);
});

test("without a terminal and without the code it is said where the code is", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew();
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const { code, stderr } = await run(["init", "a@b.example", "--password-stdin"], { env, stdin: `${PASSWORD}\n` });
	assert.equal(code, 3);
	assert.match(stderr, /setup code\nhint: .*\bsetup-code\b/);
});

test("a server that has accounts is refused with the server's own words", async () => {
	await using home = await temporaryFolder();
	await using server = await startNew(refusal(409, "conflict", "the first account already exists"));
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const typed = [`${PASSWORD}\r`, `${PASSWORD}\r`];
	const { code, stderr } = await run(["init", "ada@example.com"], { env, typed });
	assert.equal(code, 1);
	assert.match(stderr, /\balready exists\b/);
});
