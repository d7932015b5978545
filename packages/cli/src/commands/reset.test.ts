import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const CODE = "c".repeat(32);
const start = () =>
	startService(({ method, url }) => {
		if (url.endsWith("/auth/reset")) return { body: { message: "password changed" } };
		if (method === "POST") return { status: 201, body: { code: CODE, expires_at: "soon" } };
		return { body: { id: "u1", email: "ada@example.com" } };
	});

test("a code is made for a user by e-mail, and is alone on stdout", async () => {
	await using server = await start();
	const made = await run(["users", "reset", "ada@example.com"], { env: server.env });
	assert.equal(made.stdout, `${CODE}\n`);
	assert.match(made.stderr, /\bsoon\b.*svc reset ada@example\.com/);
	const [, posted] = server.requests;
	assert.equal(`${posted?.method} ${posted?.url}`, "POST /api/v1/users/u1/reset");
});

test("the code and the new password are typed, or two lines of stdin, and never an argument", async () => {
	await using server = await start();
	const { env } = server;
	const password = "a new password";
	const typed = await run(["reset", "ada@example.com"], {
		env,
		typed: [`${CODE}\r`, `${password}\r`, `${password}\r`],
	});
	assert.equal(typed.code, 0, typed.stderr);
	assert.doesNotMatch(typed.stderr, new RegExp(`${CODE}|${password}`));
	const stdin = `${CODE}\n${password}\n`;
	assert.equal((await run(["reset", "ada@example.com", "--password-stdin"], { env, stdin })).code, 0);
	const body = { email: "ada@example.com", code: CODE, new_password: password };
	const sent = server.requests.filter(({ method }) => method === "POST").map((request) => request.body);
	assert.deepEqual(sent, [body, body]);
	assert.equal((await run(["reset", "ada@example.com", "--password-stdin"], { env, stdin: CODE })).code, 2);
	assert.equal((await run(["reset", "ada@example.com", CODE], { env })).code, 2);
	assert.equal((await run(["reset", "ada@example.com"], { env })).code, 2);
});

test("second factors are removed after confirmation, or with --yes", async () => {
	const dropped = { factors_dropped: 2, sessions_ended: 1 };
	await using server = await startService(({ method }) => ({
		body: method === "DELETE" ? dropped : { id: "u1", email: "ada@example.com" },
	}));
	const { env } = server;
	const isSent = () => server.requests.some(({ method }) => method === "DELETE");
	assert.equal((await run(["users", "drop-second-factor", "ada@example.com"], { env })).code, 2);
	await run(["users", "drop-second-factor", "ada@example.com"], { env, typed: ["n\r"] });
	assert.equal(isSent(), false);
	const done = await run(["users", "drop-second-factor", "ada@example.com", "--yes", "--json"], { env });
	assert.deepEqual(JSON.parse(done.stdout), dropped, done.stderr);
	assert.equal(server.requests.at(-1)?.url, "/api/v1/users/u1/factors");
});
