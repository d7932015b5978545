import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { fields, ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, bind, login, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

const NEW = "a new password for tests";

async function codeFor(who: Person, by = root): Promise<string> {
	const made = ok(
		await client.post<{ code: string; expires_at: string }>(`/users/${who.id}/reset`, undefined, { token: by.token }),
		201,
	);
	fields(made, ["code", "expires_at"]);
	assert.match(made.code, /^[\w-]{32}$/);
	const hours = (Date.parse(made.expires_at) - Date.now()) / 3_600_000;
	assert.ok(hours > 23.9 && hours <= 24);
	return made.code;
}

const reset = (who: Pick<Person, "email">, code: string, new_password = NEW) =>
	client.post<{ message: string }>("/auth/reset", { email: who.email, code, new_password });

test("somebody who forgot the password sets a new one with a code, once, and all sessions end", async () => {
	const ada = await person(client, "ada");
	const { token } = await apiToken(client, ada, "read");
	const code = await codeFor(ada);
	ok(await reset(ada, code));
	refused(await client.get("/auth/whoami", { token: ada.token }), 401, "unauthorized");
	refused(await client.post("/auth/login", { email: ada.email, password: ada.password }), 401, "invalid_credentials");
	await login(client, { email: ada.email, password: NEW });
	ok(await client.get("/auth/whoami", { token }));
	refused(await reset(ada, code, "another password"), 401, "invalid_credentials");
	await login(client, { email: ada.email, password: NEW });
});

test("an unknown e-mail, a wrong code, a used one, a replaced one and another account's get the same answer", async () => {
	const [bob, eve] = [await person(client, "bob"), await person(client, "eve")];
	const replaced = await codeFor(bob);
	const current = await codeFor(bob);
	const unknown = await reset({ email: "nobody@example.test" }, current);
	refused(unknown, 401, "invalid_credentials");
	sameRefusal(await reset(bob, replaced), unknown);
	sameRefusal(await reset(eve, current), unknown);
	sameRefusal(await reset(bob, "wrong"), unknown);
	ok(await reset(bob, ` ${current}\n`));
	sameRefusal(await reset(bob, current), unknown);
	const recorded = (await events(client, root, "type=auth.login.failed")).map(({ data }) => [data.method, data.reason]);
	assert.deepEqual(recorded.slice(0, 5), [
		["reset", "code"],
		["reset", "code"],
		["reset", "code"],
		["reset", "code"],
		["reset", "unknown"],
	]);
});

test("a code ends when the account is disabled, and none is made for one that is", async () => {
	const carl = await person(client, "carl");
	const code = await codeFor(carl);
	ok(await client.post(`/users/${carl.id}/disable`, undefined, { token: root.token }));
	refused(await reset(carl, code), 401, "invalid_credentials");
	refused(await client.post(`/users/${carl.id}/reset`, undefined, { token: root.token }), 409, "conflict");
	ok(await client.post(`/users/${carl.id}/enable`, undefined, { token: root.token }));
	refused(await reset(carl, code), 401, "invalid_credentials");
	await login(client, carl);
});

test("a password that its owner changes ends the code", async () => {
	const dora = await person(client, "dora");
	const code = await codeFor(dora);
	const change = { current_password: dora.password, new_password: NEW };
	ok(await client.post("/auth/password", change, { token: dora.token }));
	refused(await reset(dora, code), 401, "invalid_credentials");
});

test("only a session of an instance admin makes codes, never for itself, and only for an account that is there", async () => {
	const frank = await person(client, "frank");
	const make = (id: string, token: string) => client.post(`/users/${id}/reset`, undefined, { token });
	refused(await make(root.id, frank.token), 403, "forbidden");
	const { token } = await apiToken(client, root, "read,write,delete");
	refused(await make(frank.id, token), 400, "unsupported_operation");
	refused(await make(root.id, root.token), 409, "conflict");
	refused(await make(crypto.randomUUID(), root.token), 404, "not_found");
});

test("the log of each realm of the account tells who made the code, and a short password uses nothing up", async () => {
	const gina = await person(client, "gina");
	const [owned, other] = [await realm(client, gina), await realm(client, root)];
	await bind(client, root, other.slug, gina, "viewer");
	const code = await codeFor(gina);
	refused(await reset(gina, code, "short"), 400, "password_too_short");
	ok(await reset(gina, code));
	const again = { ...gina, token: await login(client, { email: gina.email, password: NEW }) };
	for (const { slug } of [owned, other]) {
		const [recorded] = await events(client, again, `realm=${slug}&type=auth.password.reset`);
		assert.deepEqual([recorded?.actor, recorded?.data.user_id, recorded?.data.made_by], [gina.id, gina.id, root.id]);
	}
	const [made] = await events(client, root, "type=user.reset.created");
	assert.deepEqual([made?.actor, made?.data.user_id], [root.id, gina.id]);
	assert.doesNotMatch(JSON.stringify(await events(client, root, "")), new RegExp(code));
});

test("one of two simultaneous uses sets the password", async () => {
	const hugo = await person(client, "hugo");
	const code = await codeFor(hugo);
	const answers = await Promise.all([reset(hugo, code, `${NEW} 1`), reset(hugo, code, `${NEW} 2`)]);
	assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401]);
	const winner = answers[0]?.status === 200 ? 1 : 2;
	await login(client, { email: hugo.email, password: `${NEW} ${winner}` });
});

test("guesses make their source wait, and not the owner's known source", async () => {
	const ida = await person(client, "ida");
	let answer = await reset(ida, "guess");
	for (let tries = 0; tries < 20 && answer.status === 401; tries++) answer = await reset(ida, `guess ${tries}`);
	refused(answer, 429, "rate_limited");
	assert.match(String(answer.headers["retry-after"]), /^\d+$/);
});
