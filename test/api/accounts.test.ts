import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { fields, ok, recent, refused, sameRefusal, uuid } from "../harness/expect.ts";
import { apiToken, login, PASSWORD, type Person, person, unique } from "../harness/fixtures.ts";
import type { Login, User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const DAY_SECONDS = 86_400;

let server: Server;
let client: Api;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
});
after(() => server.close());

function register(body: object): ReturnType<Api["post"]> {
	return client.post("/auth/register", { email: `${unique("somebody")}@example.test`, password: PASSWORD, ...body });
}

test("registration answers the account without its password", async () => {
	const email = `${unique("new")}@example.test`;
	const answer = ok(await client.post<User>("/auth/register", { email, password: PASSWORD, name: "New" }), 201);
	fields(answer, ["id", "email", "name", "created_at"]);
	uuid(answer.id);
	recent(answer.created_at);
	assert.equal(answer.email, email);
	assert.equal(answer.name, "New");
});

for (const [what, name] of [
	["absent", undefined],
	["null", null],
	["empty", ""],
	["blank", " \t "],
] as const) {
	test(`a name that is ${what} becomes the e-mail`, async () => {
		const email = `${unique("nameless")}@example.test`;
		const user = ok(await client.post<User>("/auth/register", { email, password: PASSWORD, name }), 201);
		assert.equal(user.name, email);
	});
}

for (const [what, body, code] of [
	["no e-mail", { email: undefined }, "missing_field"],
	["an e-mail of null", { email: null }, "missing_field"],
	["an empty e-mail", { email: "" }, "missing_field"],
	["no password", { password: undefined }, "missing_field"],
	["an e-mail without @", { email: "somebody.example.test" }],
	["an e-mail with two @", { email: "some@body@example.test" }],
	["an e-mail with nothing before the @", { email: "@example.test" }],
	["an e-mail with nothing behind the @", { email: "somebody@" }],
	["an e-mail with a space inside", { email: "some body@example.test" }],
	["an e-mail with a control character", { email: "some\u0007body@example.test" }],
	["an e-mail of 255 characters", { email: `${"a".repeat(242)}@example.test` }],
	["a password of 11 code points", { password: "elevenchars" }, "password_too_short"],
	["a password of 11 emoji", { password: "🔑".repeat(11) }, "password_too_short"],
	["12 code points that NFKC makes 6", { password: "e\u0301".repeat(6) }, "password_too_short"],
	["a password of 1025 code points", { password: "p".repeat(1025) }],
] as [string, object, string?][]) {
	test(`registration refuses ${what}`, async () => {
		refused(await register(body), 400, code);
	});
}

for (const [what, password] of [
	["12 code points", "twelve chars"],
	["12 emoji", "🔑".repeat(12)],
	["1024 code points", "p".repeat(1024)],
	["11 code points that NFKC makes 12", "ﬁ0123456789"],
] as const) {
	test(`a password of ${what} is long enough and logs in`, async () => {
		const email = `${unique("somebody")}@example.test`;
		ok(await client.post("/auth/register", { email, password }), 201);
		ok(await client.post("/auth/login", { email, password }));
	});
}

test("a password is the same however its characters are composed", async () => {
	const email = `${unique("composed")}@example.test`;
	ok(await client.post("/auth/register", { email, password: "caf\u00e9 au lait noir" }), 201);
	ok(await client.post("/auth/login", { email, password: "cafe\u0301 au lait noir" }));
});

for (const letter of ["a", "ü", "語"]) {
	test(`an e-mail of 254 characters is accepted, signs in and is found in the log: ${letter}`, async () => {
		const email = `${letter.repeat(241)}@example.test`;
		const longer = { email: `${letter}${email}`, password: PASSWORD };
		refused(await client.post("/auth/register", longer), 400, "validation_failed");
		assert.equal(ok(await client.post<User>("/auth/register", { email, password: PASSWORD }), 201).email, email);
		const { token } = ok(await client.post<Login>("/auth/login", { email, password: PASSWORD }));
		const events = await client.get<{ events: object[] }>(`/audit/events?actor=${encodeURIComponent(email)}`, {
			token,
		});
		assert.equal(ok(events).events.length, 2);
	});
}

test("an e-mail is one account in every spelling that means the same", async () => {
	const plain = `${unique("spelled")}@example.test`;
	const shouted = `  ${plain.toUpperCase()} `;
	const fullWidth = plain.replace("s", "\uff53");
	const user = ok(await client.post<User>("/auth/register", { email: shouted, password: PASSWORD }), 201);
	assert.equal(user.email, plain);
	for (const email of [plain, shouted, fullWidth]) {
		refused(await client.post("/auth/register", { email, password: PASSWORD }), 409, "conflict");
		assert.equal(ok(await client.post<Login>("/auth/login", { email, password: PASSWORD })).user.email, plain);
	}
});

test("login answers a session that is valid for 24 hours", async () => {
	const body = { email: alice.email, password: PASSWORD };
	const answer = ok(await client.post<Login>("/auth/login", body));
	fields(answer, ["token", "expires_at", "user"]);
	assert.deepEqual(answer.user, { id: alice.id, email: alice.email, name: "alice" });
	assert.ok(Number.isInteger(answer.expires_at));
	assert.ok(Math.abs(answer.expires_at - Date.now() / 1000 - DAY_SECONDS) < 60);
	ok(await client.get("/realms", { token: answer.token }));
});

test("a session token is a JWT that names its owner, its times and itself", async () => {
	const [header, payload, signature] = (await login(client, alice)).split(".");
	const decode = (part = ""): Record<string, unknown> => JSON.parse(Buffer.from(part, "base64url").toString());
	assert.equal(decode(header).alg, "HS256");
	const { sub, iat, exp, jti } = decode(payload);
	assert.equal(sub, alice.id);
	assert.equal(Number(exp) - Number(iat), DAY_SECONDS);
	assert.match(String(jti), /\S{16,}/);
	assert.match(signature ?? "", /^[\w-]{43}$/);
});

test("login without e-mail or password is refused", async () => {
	refused(await client.post("/auth/login", { password: PASSWORD }), 400, "missing_field");
	refused(await client.post("/auth/login", { email: alice.email }), 400, "missing_field");
	refused(await client.post("/auth/login", {}), 400, "missing_field");
});

test("a wrong password and an unknown e-mail are answered alike", async () => {
	const wrong = await client.post("/auth/login", { email: alice.email, password: "not the password at all" });
	const unknown = await client.post("/auth/login", { email: "nobody@example.test", password: PASSWORD });
	refused(wrong, 401, "invalid_credentials");
	sameRefusal(wrong, unknown);
});

test("logout ends the session it is sent with and no other", async () => {
	const [one, other] = [await login(client, alice), await login(client, alice)];
	const { message } = ok(await client.post<{ message: string }>("/auth/logout", undefined, { token: one }));
	assert.equal(typeof message, "string");
	refused(await client.get("/realms", { token: one }), 401, "unauthorized");
	refused(await client.post("/auth/logout", undefined, { token: one }), 401, "unauthorized");
	ok(await client.get("/realms", { token: other }));
});

test("logout with an API token is refused and the token lives on", async () => {
	const { token } = await apiToken(client, alice, "read,write,delete");
	refused(await client.post("/auth/logout", undefined, { token }), 400, "unsupported_operation");
	ok(await client.get("/realms", { token }));
});

test("a change of password ends the other sessions, and neither this one nor API tokens", async () => {
	const bob = await person(client, "bob");
	const other = await login(client, bob);
	const { token: apiKey } = await apiToken(client, bob, "read");
	const change = { current_password: PASSWORD, new_password: "another good password" };
	ok(await client.post("/auth/password", change, { token: bob.token }));
	refused(await client.get("/realms", { token: other }), 401, "unauthorized");
	ok(await client.get("/realms", { token: bob.token }));
	ok(await client.get("/realms", { token: apiKey }));
	const old = await client.post("/auth/login", { email: bob.email, password: PASSWORD });
	refused(old, 401, "invalid_credentials");
	await login(client, { email: bob.email, password: change.new_password });
});

for (const [what, body, status, code] of [
	["the wrong current password", { current_password: "not the password at all" }, 403, "wrong_password"],
	["a new password that is too short", { new_password: "elevenchars" }, 400, "password_too_short"],
	["no current password", { current_password: undefined }, 400, "missing_field"],
	["no new password", { new_password: undefined }, 400, "missing_field"],
] as [string, object, number, string][]) {
	test(`a change of password with ${what} is refused and ends nothing`, async () => {
		const other = await login(client, alice);
		const change = { current_password: PASSWORD, new_password: "another good password", ...body };
		refused(await client.post("/auth/password", change, { token: alice.token }), status, code);
		ok(await client.get("/realms", { token: other }));
	});
}

test("there are no sign-on providers yet", async () => {
	assert.deepEqual(ok(await client.get("/auth/providers")), { providers: [] });
});
