import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD, unique } from "../harness/fixtures.ts";
import type { User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let code: string;

before(async () => {
	server = await startServer({ env: { SVC_REGISTRATION_MODE: "admin" } });
	client = api(server);
	code = (await readFile(file(), "utf8")).trim();
});
after(() => server.close());

const file = () => join(server.data, "setup-code");

function register(more: object = {}) {
	return client.post<User>("/auth/register", { email: `${unique("first")}@example.test`, password: PASSWORD, ...more });
}

test("the code is where only the server's own account can read it, and no log has it", () => {
	assert.match(code, /^[\w-]{32}$/);
	assert.equal(statSync(file()).mode & 0o777, 0o600);
	assert.match(server.stdout(), /svc init .*\n.*\/setup-code/);
	assert.ok(!`${server.stdout()}${server.stderr()}`.includes(code));
});

test("without the code nobody becomes the first account, in no mode but open", async () => {
	for (const mode of ["admin", "closed", "domain"]) {
		await server.restart({ SVC_REGISTRATION_MODE: mode, SVC_REGISTRATION_ALLOWED_DOMAINS: "example.test" });
		for (const more of [{}, { setup_code: "" }, { setup_code: code.toLowerCase() }, { setup_code: `${code}x` }])
			refused(await register(more), 403, "registration_admin_only");
	}
	assert.equal((await readFile(file(), "utf8")).trim(), code, "a restart keeps it");
	await server.restart({ SVC_REGISTRATION_MODE: "admin" });
});

test("one of many who use the code at once becomes the instance admin, and the others get no account", async () => {
	const answers = await Promise.all(Array.from({ length: 4 }, () => register({ setup_code: code })));
	assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409]);
	const { email } = ok(answers.find(({ status }) => status === 201) ?? assert.fail(), 201);
	const { token } = ok(await client.post<{ token: string }>("/auth/login", { email, password: PASSWORD }));
	const { users } = ok(await client.get<{ users: { instance_admin: boolean }[] }>("/users", { token }));
	assert.deepEqual(
		users.map(({ instance_admin }) => instance_admin),
		[true],
	);
});

test("then the code is gone and opens nothing more", async () => {
	assert.equal(existsSync(file()), false);
	refused(await register({ setup_code: code }), 409, "conflict");
	refused(await register(), 403, "registration_admin_only");
	await server.restart();
	assert.equal(existsSync(file()), false);
	assert.doesNotMatch(server.stdout().slice(server.stdout().lastIndexOf("listening on")), /setup-code/);
});

test("where everybody may register, a request for the first account only is refused when there is one", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "open" });
	refused(await register({ setup_code: "" }), 409, "conflict");
	ok(await register(), 201);
});
