import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, PASSWORD, type Person, person, realm, unique } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let first: Person;
let second: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	first = await person(client, "first");
	second = await person(client, "second");
});
after(() => server.close());

function register(token?: string, email = `${unique("newcomer")}@example.test`): Promise<Answer> {
	return client.post("/auth/register", { email, password: PASSWORD }, { token });
}

test("the first account is the instance admin and the second is not", async () => {
	ok(await client.get("/users", { token: first.token }));
	refused(await client.get("/users", { token: second.token }), 403, "forbidden");
});

test("in mode admin only the instance admin registers accounts", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "admin" });
	refused(await register(), 403, "registration_admin_only");
	refused(await register(second.token), 403, "registration_admin_only");
	const { slug } = await realm(client, first);
	for (const limits of [{ realm: slug }, { environment: "dev" }, { realm: slug, engines: ["totp"] }]) {
		const { token } = await apiToken(client, first, "read,write,delete", limits);
		refused(await register(token), 403, "registration_admin_only");
	}
	ok(await register((await apiToken(client, first, "write")).token), 201);
	ok(await register(first.token), 201);
});

test("in mode closed nobody registers an account", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "closed" });
	for (const token of [undefined, second.token, first.token]) {
		refused(await register(token), 403, "registration_disabled");
	}
});

test("in mode domain an account needs an e-mail of an allowed domain", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "domain", SVC_REGISTRATION_ALLOWED_DOMAINS: "example.test,corp.test" });
	for (const domain of ["example.test", "corp.test", "CORP.TEST"]) {
		ok(await register(undefined, `${unique("inside")}@${domain}`), 201);
	}
	for (const domain of ["example.org", "sub.corp.test", "evilcorp.test", "corp.test.evil.org", "corp.tes", "test"]) {
		refused(await register(undefined, `${unique("outside")}@${domain}`), 403, "registration_disabled");
	}
});

test("accounts and sessions outlive a restart in every mode", async () => {
	await server.restart({ SVC_REGISTRATION_MODE: "closed" });
	ok(await client.get("/realms", { token: second.token }));
	const answer = await client.post("/auth/login", { email: second.email, password: PASSWORD });
	assert.equal(answer.status, 200);
});
