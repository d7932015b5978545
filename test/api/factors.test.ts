/* Second factors over HTTPS, with codes made as an authenticator app makes them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { fields, ok, refused, sameRefusal } from "../harness/expect.ts";
import { apiToken, PASSWORD, type Person, person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { codeAt, nextCode } from "../harness/totp.ts";
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

interface Added {
	id: string;
	secret: string;
	url: string;
}
interface Codes {
	recovery_codes: string[];
}

const add = ({ token }: Pick<Person, "token">, body: object = { current_password: PASSWORD }) =>
	client.post<Added>("/auth/factors", { type: "totp", ...body }, { token });
const confirm = ({ token }: Pick<Person, "token">, id: string, code: string) =>
	client.post<Codes>(`/auth/factors/${id}/confirm`, { code }, { token });
const signIn = ({ email, password }: Pick<Person, "email" | "password">, code?: string) =>
	client.post<Login>("/auth/login", { email, password, code });
const remove = ({ token }: Pick<Person, "token">, id: string, body: object) =>
	client.delete(`/auth/factors/${id}`, { token, raw: JSON.stringify(body) });

/** Makes somebody with a second factor. */
async function withFactor(name: string) {
	const who = await person(client, name);
	const { id, secret } = ok(await add(who), 201);
	const { recovery_codes } = ok(await confirm(who, id, await nextCode(secret)));
	return { who, id, secret, recovery_codes };
}

test("a second factor is added with the password and its first code, and a login then asks for a code", async () => {
	const ada = await person(client, "ada");
	const other = ok(await signIn(ada)).token;
	const made = ok(await add(ada), 201);
	fields(made, ["id", "secret", "url"]);
	assert.match(made.secret, /^[A-Z2-7]{32}$/);
	const url = new URL(made.url);
	assert.deepEqual([url.protocol, url.host, url.searchParams.get("secret")], ["otpauth:", "totp", made.secret]);
	assert.equal(decodeURIComponent(url.pathname), `/svc ${new URL(server.url).hostname}:${ada.email}`);
	ok(await signIn(ada));
	refused(await confirm(ada, made.id, "12345"), 403, "wrong_code");
	const first = await nextCode(made.secret);
	const { recovery_codes } = ok(await confirm(ada, made.id, first));
	assert.equal(new Set(recovery_codes).size, 10);
	for (const code of recovery_codes) assert.match(code, /^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
	refused(await client.get("/auth/whoami", { token: other }), 401, "unauthorized");
	const asked = await signIn(ada);
	refused(asked, 401, "second_factor_required");
	refused(await signIn({ ...ada, password: "wrong" }, first), 401, "invalid_credentials");
	refused(await signIn(ada, first), 401, "invalid_credentials");
	ok(await signIn(ada, await nextCode(made.secret)));
	const { factors, ...rest } = ok(
		await client.get<{ factors: object[]; recovery_codes_left: number }>("/auth/factors", { token: ada.token }),
	);
	assert.deepEqual(rest, { recovery_codes_left: 10 });
	fields(factors[0] ?? {}, ["id", "type", "name", "rp_id", "created_at", "confirmed_at", "disabled"]);
	const recorded = JSON.stringify(await events(client, root, ""));
	for (const secret of [made.secret, first, ...recovery_codes]) assert.ok(!recorded.includes(secret));
});

test("a code is good once, also for two logins at the same moment, and never for another account", async () => {
	const [{ who, secret }, other] = [await withFactor("bob"), await withFactor("eve")];
	const code = await nextCode(secret);
	refused(await signIn(other.who, code), 401, "invalid_credentials");
	const both = await Promise.all([signIn(who, code), signIn(who, ` ${code.slice(0, 3)} ${code.slice(3)} `)]);
	assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 401]);
	refused(await signIn(who, code), 401, "invalid_credentials");
});

test("a code two steps away is wrong, before as after, and so is anything that is no code", async () => {
	const { who, secret } = await withFactor("carl");
	const answers = [];
	for (const code of [codeAt(secret, -3), codeAt(secret, 3), "٠١٢٣٤٥", "1234567"])
		answers.push(await signIn(who, code));
	for (const answer of answers) {
		refused(answer, 401, "invalid_credentials");
		sameRefusal(answer, answers[0] as never);
	}
	ok(await signIn(who, await nextCode(secret)));
});

test("a recovery code lets its owner in once, however it is typed, and both logs and list tell", async () => {
	const { who, recovery_codes } = await withFactor("dora");
	const [first = "", second = ""] = recovery_codes;
	ok(await signIn(who, first.toLowerCase().replace("-", " ")));
	refused(await signIn(who, first), 401, "invalid_credentials");
	const { token } = ok(await signIn(who, second));
	const listed = ok(await client.get<{ recovery_codes_left: number }>("/auth/factors", { token }));
	assert.equal(listed.recovery_codes_left, 8);
	const [used] = await events(client, root, `type=auth.recovery_code.used&actor=${who.id}`);
	assert.equal(used?.data.recovery_codes_left, 8);
	const failed = await events(client, root, `type=auth.login.failed&actor=${who.id}`);
	assert.deepEqual(
		failed.map(({ data }) => [data.method, data.reason]),
		[["password", "code"]],
	);
});

test("a stolen session changes nothing without the password, and with it not without a code", async () => {
	const { who, id, secret, recovery_codes } = await withFactor("frank");
	const wrong = { current_password: "another password" };
	const right = { current_password: PASSWORD };
	const renew = (body: object) => client.post("/auth/recovery-codes", body, { token: who.token });
	for (const change of [(body: object) => add(who, body), (body: object) => remove(who, id, body), renew]) {
		refused(await change({}), 400, "missing_field");
		refused(await change(right), 400, "missing_field");
	}
	refused(await add(who, wrong), 403, "wrong_password");
	refused(await remove(who, id, { ...wrong, code: recovery_codes[1] }), 403, "wrong_password");
	refused(await remove(who, id, { ...right, code: "000-000" }), 403, "wrong_code");
	const { recovery_codes: renewed } = ok(await renew({ ...right, code: await nextCode(secret) }), 201) as Codes;
	refused(await signIn(who, recovery_codes[0]), 401, "invalid_credentials");
	ok(await remove(who, id, { ...right, code: renewed[0] }));
	ok(await signIn(who));
	refused(await remove(who, id, right), 404, "not_found");
	refused(await renew(right), 409, "conflict");
});

test("the password is changed with a code, too, and each code once", async () => {
	const { who, secret, recovery_codes } = await withFactor("paul");
	const change = (body: object) =>
		client.post(
			"/auth/password",
			{ current_password: PASSWORD, new_password: `new ${PASSWORD}`, ...body },
			{ token: who.token },
		);
	refused(await change({}), 400, "missing_field");
	refused(await change({ code: "000-000" }), 403, "wrong_code");
	refused(await change({ code: recovery_codes[0], current_password: "another password" }), 403, "wrong_password");
	const code = await nextCode(secret);
	const both = await Promise.all([change({ code }), change({ code })]);
	assert.deepEqual(both.map(({ status }) => status).sort(), [200, 403]);
	const changed = { ...who, password: `new ${PASSWORD}` };
	refused(await signIn(changed, code), 401, "invalid_credentials");
	ok(await signIn(changed, recovery_codes[0]));
});

test("an API token and another account change nothing", async () => {
	const { who, id } = await withFactor("gina");
	const { token } = await apiToken(client, who, "read,write,delete");
	const right = { current_password: PASSWORD };
	for (const answer of [
		await add({ token }),
		await confirm({ token }, id, "000000"),
		await remove({ token }, id, right),
		await client.get("/auth/factors", { token }),
		await client.post("/auth/recovery-codes", right, { token }),
	])
		refused(answer, 400, "unsupported_operation");
	ok(await client.get("/auth/whoami", { token }));
	const eve = await person(client, "eve");
	refused(await remove(eve, id, right), 404, "not_found");
	const pending = ok(await add(eve), 201);
	refused(await confirm(who, pending.id, codeAt(pending.secret, 0)), 404, "not_found");
});

test("somebody with the password but no code soon has to wait, and so does the right code", async () => {
	const { who, secret } = await withFactor("hugo");
	let answer = await signIn(who, "000000");
	for (let tries = 0; tries < 20 && answer.status === 401; tries++) answer = await signIn(who, `00000${tries % 10}`);
	refused(answer, 429, "rate_limited");
	assert.match(String(answer.headers["retry-after"]), /^\d+$/);
	refused(await signIn(who, codeAt(secret, 1)), 429, "rate_limited");
});

test("a disabled account is not asked for a code, and one whose password was reset still is", async () => {
	const { who, secret } = await withFactor("ida");
	const act = <Answer>(verb: string) =>
		client.post<Answer>(`/users/${who.id}/${verb}`, undefined, { token: root.token });
	ok(await act("disable"));
	const out = await signIn(who);
	refused(out, 401, "invalid_credentials");
	sameRefusal(await signIn(who, codeAt(secret, 0)), out);
	ok(await act("enable"));
	const { code } = ok(await act<{ code: string }>("reset"), 201);
	ok(await client.post("/auth/reset", { email: who.email, code, new_password: `new ${PASSWORD}` }));
	const changed = { ...who, password: `new ${PASSWORD}` };
	refused(await signIn(changed), 401, "second_factor_required");
	ok(await signIn(changed, await nextCode(secret)));
});
