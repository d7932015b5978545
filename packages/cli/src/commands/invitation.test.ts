import assert from "node:assert/strict";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const open = (id: string, email: string) => ({ id, email, bindings: [], created_by: "u", expires_at: "e" });

test("stdout holds the code alone; stderr says when it expires and how to use it", async () => {
	const body = { code: "c0de", email: "bob@example.com", expires_at: "e" };
	await using server = await startService(() => ({ status: 201, body }));
	const { stdout, stderr } = await run(["invite", "bob@example.com"], server);
	assert.equal(stdout, "c0de\n");
	assert.match(stderr, /\be\b.*`svc register bob@example\.com --invite -`/);
});

test("a role without a realm, and more roles than realms, are mistakes", async () => {
	await using server = await startService(() => ({ body: {} }));
	const env = { ...server.env, SVC_REALM: "shop" };
	for (const more of ["--role member", "--realm shop --role member --role viewer"]) {
		const { code } = await run(["invite", "bob@example.com", ...more.split(" ")], { env });
		assert.equal(code, 2, more);
	}
	assert.equal(server.requests.length, 0);
});

test("an invitation is ended by its address, unless several people have invited it", async () => {
	const all = [open("i1", "bob@example.com"), open("i2", "eve@example.com"), open("i3", "eve@example.com")];
	await using server = await startService(({ method }) =>
		method === "GET" ? page("invitations", all) : { body: { message: "invitation deleted" } },
	);
	assert.equal((await run(["invitation", "delete", "Bob@example.com"], server)).code, 0);
	assert.equal((await run(["invitation", "delete", "eve@example.com"], server)).code, 2);
	const absent = await run(["invitation", "delete", "bop@example.com"], server);
	assert.deepEqual([absent.code, /\nhint: .* bob@example\.com\?/.test(absent.stderr)], [4, true]);
	const ended = server.requests.filter(({ method }) => method === "DELETE").map(({ url }) => url);
	assert.deepEqual(ended, ["/api/v1/invitations/i1"]);
});

test("svc register takes the code from its option, or with the password from standard input", async () => {
	await using home = await temporaryFolder();
	await using server = await startService(() => ({ status: 201, body: { email: "bob@example.com" } }));
	const env = { HOME: home.path, SVC_ADDRESS: server.address };
	const register = (invite: string, stdin: string) =>
		run(["register", "bob@example.com", "--invite", invite, "--password-stdin"], { env, stdin });
	await register("c0de", "a long password\n");
	await register("-", "c0de\na long password\n");
	const sent = { email: "bob@example.com", password: "a long password", invitation: "c0de" };
	assert.deepEqual(
		server.requests.map(({ url, body }) => [url, body]),
		[sent, sent].map((body) => ["/api/v1/auth/register", body]),
	);
});
