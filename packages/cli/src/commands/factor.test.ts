import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const FACTOR = { id: "f1", type: "totp", created_at: "2030-01-01T00:00:00.000Z", confirmed_at: null as string | null };
const CONFIRMED = { ...FACTOR, confirmed_at: "2030-01-01T00:00:01.000Z" };
const CODES = ["AAAAA-BBBBB", "CCCCC-DDDDD"];
const PASSWORD = "the password";

const session = ({ address }: { address: string }) => ({ SVC_ADDRESS: address, SVC_TOKEN: "session" });

/** A server whose account has these factors. */
const start = (factors: object[]) =>
	startService(({ method, url }) => {
		if (/confirm$|recovery-codes$/.test(url)) return { body: { recovery_codes: CODES } };
		if (method === "DELETE") return { body: { message: "second factor removed" } };
		if (method === "POST") return { status: 201, body: { id: "f1", secret: "SECRET", url: "otpauth://totp/a" } };
		return { body: { factors, recovery_codes_left: 7 } };
	});

const changes = (requests: { method: string; url: string; body?: unknown }[]) =>
	requests.filter(({ method }) => method !== "GET").map(({ url, body }) => [url.replace("/api/v1/auth/", ""), body]);

test("an app is added and confirmed at a terminal; the recovery codes are printed one per line", async () => {
	await using server = await start([]);
	const outcome = await run(["factor", "add"], { env: session(server), typed: [`${PASSWORD}\r`, "123456\r"] });
	assert.equal(outcome.stdout, `secret  SECRET\nlink    otpauth://totp/a\n${CODES.join("\n")}\n`, outcome.stderr);
	assert.doesNotMatch(outcome.stderr, /123456|the password/);
	assert.deepEqual(changes(server.requests), [
		["factors", { type: "totp", current_password: PASSWORD }],
		["factors/f1/confirm", { code: "123456" }],
	]);
});

test("without a terminal it is confirmed by a command of its own", async () => {
	await using server = await start([]);
	const env = session(server);
	const added = await run(["factor", "add", "--password-stdin"], { env, stdin: `${PASSWORD}\n` });
	assert.match(added.stderr, /svc factor confirm f1/);
	const confirmed = await run(["factor", "confirm", "f1", "--code-stdin"], { env, stdin: "123456\n" });
	assert.equal(confirmed.stdout, `${CODES.join("\n")}\n`);
	assert.equal((await run(["factor", "confirm", "f1", "--code-stdin"], { env, stdin: "" })).code, 2);
	assert.equal((await run(["factor", "confirm", "f1"], { env })).code, 2);
	assert.equal((await run(["factor", "confirm", "f1", "123456"], { env })).code, 2);
});

test("where there is a factor, a change takes a code, too", async () => {
	await using server = await start([CONFIRMED]);
	const env = session(server);
	const proof = { current_password: PASSWORD, code: "123456" };
	const stdin = `${PASSWORD}\n123456\n`;
	const removed = await run(["factor", "remove", "f1"], { env, typed: [`${PASSWORD}\r`, "123456\r"] });
	assert.equal(removed.stdout, "second factor removed\n", removed.stderr);
	const renewed = await run(["factor", "recovery", "--password-stdin"], { env, stdin });
	assert.equal(renewed.stdout, `${CODES.join("\n")}\n`);
	assert.deepEqual(changes(server.requests), [
		["factors/f1", proof],
		["recovery-codes", proof],
	]);
	assert.equal((await run(["factor", "recovery", "--password-stdin"], { env, stdin: `${PASSWORD}\n` })).code, 2);
});

test("the list tells which factors are asked for, and how many recovery codes are left", async () => {
	const passkey = { ...CONFIRMED, id: "f3", type: "passkey", name: "laptop" };
	const ended = { ...passkey, id: "f4", name: "phone", disabled: true };
	await using server = await start([CONFIRMED, { ...FACTOR, id: "f2" }, passkey, ended]);
	const { stdout, stderr } = await run(["factor", "list"], { env: session(server) });
	assert.match(stdout, /f1 +totp .*asked for\nf2 +totp .*to be confirmed\n/);
	assert.match(
		stdout,
		/f3 +passkey +laptop .*signs in to the console\nf4 +passkey +phone .*disabled: a copy was used\n/,
	);
	assert.match(stderr, /: 7$/m);
});

test("a login asks for the code that the account needs, or takes it from the second line of stdin", async () => {
	const error = { code: "second_factor_required", message: "the account has a second factor", status: 401 };
	const user = { id: "u", email: "ada@example.com", name: "Ada" };
	await using server = await startService(({ body }) =>
		(body as { code?: string }).code === undefined ? { status: 401, body: { error } } : { body: { token: "t", user } },
	);
	await using home = await temporaryFolder();
	const env = { SVC_ADDRESS: server.address, HOME: home.path };
	const words = ["login", "ada@example.com"];
	const typed = await run(words, { env, typed: [`${PASSWORD}\r`, "123456\r"] });
	assert.equal(typed.code, 0, typed.stderr);
	const fromStdin = await run([...words, "--password-stdin"], { env, stdin: `${PASSWORD}\n123456\n` });
	assert.equal(fromStdin.code, 0, fromStdin.stderr);
	const without = await run([...words, "--password-stdin"], { env, stdin: `${PASSWORD}\n` });
	assert.equal(without.code, 3);
	assert.match(without.stderr, /\nhint: /);
	const body = { email: "ada@example.com", password: PASSWORD };
	assert.deepEqual(
		server.requests.filter(({ method }) => method === "POST").map((request) => request.body),
		[body, { ...body, code: "123456" }, { ...body, code: "123456" }, body],
	);
});
