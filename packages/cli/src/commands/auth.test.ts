import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { readSession, saveServer } from "../client/session.ts";
import { refusal, startService } from "../testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

test("logging out forgets the token even when the server cannot be reached, and keeps the trust", async () => {
	await using home = await temporaryFolder();
	const env = { HOME: home.path };
	const trust = { kind: "pinned", certificate: "pem" } as const;
	for (const [status, code] of [
		[200, 0],
		[401, 0],
		[503, 5],
	] as const) {
		await using server = await startService(() =>
			status === 200 ? { body: { message: "logged out" } } : refusal(status, "x", "refused"),
		);
		await saveServer(fakeIo({ env }).io, server.address, {
			token: "session",
			expires_at: 1,
			user: { id: "i", email: "e", name: "n" },
			trust,
		});
		const kept = join(home.path, ".local/state/svc/run");
		await mkdir(kept, { recursive: true });
		assert.equal((await run(["logout"], { env })).code, code);
		assert.equal(existsSync(kept), false, "what `svc run` kept is gone, too");
		assert.equal(server.requests[0]?.headers.authorization, "Bearer session");
		assert.deepEqual((await readSession(fakeIo({ env }).io)).servers[server.address], { trust });
	}
});

test("a password is changed from two lines of stdin, or asked for three times, with a code where there is a second factor", async () => {
	let factors: object[] = [];
	await using server = await startService(({ method }) => ({
		body: method === "GET" ? { factors } : { message: "password changed" },
	}));
	const env = { SVC_ADDRESS: server.address, SVC_TOKEN: "session" };
	assert.equal((await run(["password", "--password-stdin"], { env, stdin: "old one\r\nnew one\r\n" })).code, 0);
	assert.equal((await run(["password"], { env, typed: ["old\r", "new\r", "new\r"] })).code, 0);
	assert.equal((await run(["password"], { env, typed: ["old\r", "new\r", "different\r"] })).code, 2);
	assert.equal((await run(["password", "--password-stdin"], { env, stdin: "only one\n" })).code, 2);
	factors = [{ confirmed_at: "2030-01-01T00:00:00Z" }];
	const three = { env, stdin: "old\nnew\n123456\n" };
	assert.equal((await run(["password", "--password-stdin"], three)).code, 0);
	assert.equal((await run(["password", "--password-stdin"], { env, stdin: "old\nnew\n" })).code, 2);
	assert.equal((await run(["password"], { env, typed: ["old\r", "new\r", "new\r", "123456\r"] })).code, 0);
	assert.match((await run(["password"], { env: server.env })).stderr, /^svc: .*\bAPI token\b/);
	assert.deepEqual(
		server.requests.filter(({ method }) => method === "POST").map(({ body }) => body),
		[
			{ current_password: "old one", new_password: "new one" },
			{ current_password: "old", new_password: "new" },
			{ current_password: "old", new_password: "new", code: "123456" },
			{ current_password: "old", new_password: "new", code: "123456" },
		],
	);
});

const CALLER = {
	...{ id: "i", email: "ada@example.com", name: "Ada\u001b", instance_admin: true, scopes: "read" },
	...{ token_id: "t", realm_id: null, environment: "prod", engines: ["keyvalue:readonly"] },
	expires_at: "2030-03-17T17:46:40.000Z",
};

test("whoami asks the server whose token it is, and how far it reaches", async () => {
	await using server = await startService(() => ({ body: CALLER }));
	const { stdout } = await run(["whoami"], { env: server.env });
	assert.match(stdout, /email +ada@example\.com\nname +Ada\\u001b\n.*admin +of this server\nscopes +read\ntoken +t\n/s);
	assert.match(
		stdout,
		/environment +prod\nengines +keyvalue:readonly\nuntil +2030-03-17T17:46:40\.000Z\nfrom +SVC_TOKEN\n$/,
	);
	assert.doesNotMatch(stdout, /realm/);
	const { user, source, ...rest } = JSON.parse((await run(["whoami", "--json"], { env: server.env })).stdout);
	assert.deepEqual(user, { id: "i", email: "ada@example.com", name: "Ada\u001b", instance_admin: true });
	assert.deepEqual([source, rest.environment, rest.address], ["SVC_TOKEN", "prod", server.address]);
	await using home = await temporaryFolder();
	assert.equal((await run(["whoami"], { env: { HOME: home.path } })).code, 3);
	const env = { HOME: home.path };
	await saveServer(fakeIo({ env }).io, server.address, { token: "session-token", expires_at: 1_900_000_000 });
	const { stdout: ofSession } = await run(["whoami"], { env });
	assert.match(ofSession, /until +2030-03-17T17:46:40\.000Z\n$/);
});

test("whoami of a machine shows its realm and no fields that only people have", async () => {
	const machine = {
		email: "",
		name: "deploy",
		instance_admin: false,
		realm_id: "r",
		engines: null,
		machine: "shop/deploy",
	};
	await using server = await startService(() => ({ body: { ...CALLER, ...machine } }));
	const { stdout } = await run(["whoami"], { env: server.env });
	assert.match(stdout, /^address .*\nmachine +shop\/deploy\nid +i\nscopes +read\ntoken +t\nenvironment +prod\nuntil/);
	assert.equal(JSON.parse((await run(["whoami", "--json"], { env: server.env })).stdout).machine, "shop/deploy");
});

test("registering an account for somebody else shows that person's next step", async () => {
	await using home = await temporaryFolder();
	await using server = await startService(() => ({ status: 201, body: { email: "bob@example.com" } }));
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const register = async () =>
		await run(["register", "bob@example.com", "--password-stdin"], { env, stdin: "correct horse\n" });
	assert.match((await register()).stderr, /`svc login`/);
	await saveServer(fakeIo({ env }).io, server.address, { token: "session" });
	assert.match((await register()).stderr, /`svc password`/);
});

test("a token is shown to a registration only where that is for administrators", async () => {
	await using home = await temporaryFolder();
	const register = async (env: Record<string, string>) =>
		(
			await run(["register", "eve@example.com", "--password-stdin"], {
				env: { HOME: home.path, ...env },
				stdin: "correct horse\n",
			})
		).code;
	const account = { status: 201, body: { email: "eve@example.com" } };
	await using open = await startService(() => account);
	assert.equal(await register(open.env), 0);
	await using closed = await startService(({ headers }) =>
		headers.authorization === undefined
			? refusal(403, "registration_admin_only", "only an administrator registers accounts")
			: account,
	);
	assert.equal(await register(closed.env), 0);
	assert.equal(await register({ SVC_ADDRESS: closed.address }), 3);
	await using taken = await startService(() => refusal(409, "conflict", "this e-mail has an account"));
	assert.equal(await register(taken.env), 1);
	const tokens = [open, closed, taken].map(({ requests }) => requests.map(({ headers }) => headers.authorization));
	assert.deepEqual(tokens, [[undefined], [undefined, "Bearer svc_token", undefined], [undefined]]);
});
