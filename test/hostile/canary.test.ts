import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api, type RequestOptions } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { apiToken, type Person, person, realm, unique } from "../harness/fixtures.ts";
import { exchangeBytes } from "../harness/raw.ts";
import type { ApiToken, Login, Realm, User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { Canaries, filesBelow } from "./canaries.ts";

interface Field {
	readonly path: string;
	readonly body: Record<string, unknown>;
}

const canaries = new Canaries();
const findings: string[] = [];
const answers: Answer[] = [];

let server: Server;
let client: ReturnType<typeof api>;
let root: Person;
let alice: Person;
let slug: string;

before(async () => {
	server = await startServer({ env: { SVC_LOG_LEVEL: "debug" } });
	client = api(server);
	root = await person(client, "root");
	alice = await person(client, "alice");
	slug = (await realm(client, alice)).slug;
	for (const { token } of [root, alice]) canaries.add(token, "a session token");
});
after(() => server.close());

/** Sends a request and searches the answer; only the body of a success may contain the data received. */
async function post<T = unknown>(path: string, body: object, options: RequestOptions = {}): Promise<Answer<T>> {
	return inspect(await client.post<T>(path, body, { token: alice.token, ...options }));
}

function inspect<T>(answer: Answer<T>): Answer<T> {
	answers.push(answer);
	findings.push(...canaries.findIn("error", JSON.stringify(answer.headers)));
	if (answer.status >= 400) findings.push(...canaries.findIn("error", answer.text));
	return answer;
}

function hide(what: string): string {
	return canaries.plant("nowhere", what);
}

function assertFoundNothing(): void {
	assert.deepEqual([...new Set(findings)], []);
}

/** Returns every field of every route that takes a body. All values are wrong together, so that the server accepts none. */
function everyField(): Field[] {
	const routes: Record<string, string[]> = {
		"/auth/register": ["email", "password", "name"],
		"/auth/login": ["email", "password"],
		"/auth/password": ["current_password", "new_password"],
		"/auth/tokens": ["name", "scopes", "realm", "environment", "expires_at"],
		"/realms": ["slug", "name", "description"],
		[`/realms/${slug}/secrets`]: ["key", "value", "environment", "comment", "expires_at", "pre_encrypted"],
		[`/realms/${slug}/secrets/KEY/rollback`]: ["version"],
		[`/realms/${slug}/promote`]: ["from", "to", "secrets"],
		"/encrypt": ["value"],
		[`/realms/${slug}/policy/bindings`]: ["user_id", "role"],
	};
	return Object.entries(routes).flatMap(([path, names]) =>
		names.map((name) => ({ path, body: { [name]: hide(`${name} of ${path}`) } })),
	);
}

test("accounts: what is typed as password is in no answer", async () => {
	const [password, next] = [hide("a password"), hide("a new password")];
	const email = `${canaries.plant("audit", "an e-mail")}@example.test`;
	const register = await post<User>("/auth/register", { email, password, name: canaries.plant("database", "a name") });
	assert.equal(register.status, 201);
	const { body } = await post<Login>("/auth/login", { email, password });
	canaries.add(body.token, "the token of a login");
	await post("/auth/login", { email, password: hide("a wrong password") });
	await post("/auth/login", { email: "nobody@example.test", password: hide("a password of nobody") });
	await post("/auth/register", { email, password: hide("the password of a second registration") });
	await post("/auth/register", { email: "nobody", password: hide("a password beside a bad e-mail") });
	await post("/auth/register", {
		email: `${unique("short")}@example.test`,
		password: hide("a short one").slice(0, 11),
	});
	const { token } = body;
	const wrong = { current_password: hide("a wrong current password"), new_password: hide("a refused new password") };
	assert.equal((await post("/auth/password", wrong, { token })).status, 403);
	assert.equal(
		(await post("/auth/password", { current_password: password, new_password: next }, { token })).status,
		200,
	);
	assertFoundNothing();
});

test("secrets: what is stored is in no answer but the reads", async () => {
	const key = canaries.plant("audit", "a key");
	const secrets = `/realms/${slug}/secrets`;
	const comment = (): string => canaries.plant("database", "a comment");
	for (const environment of ["dev", "prod", "dev"]) {
		const body = { key, value: hide("a value"), environment, comment: comment() };
		assert.equal((await post(secrets, body)).status, 201);
	}
	const { body } = await post<{ ciphertext: string }>("/encrypt", { value: hide("a value to encrypt") });
	await post(secrets, { key: "SEALED", value: body.ciphertext, pre_encrypted: true, comment: comment() });
	await post(`${secrets}/${key}/rollback`, { version: 1 });
	const { token } = alice;
	for (const path of [
		`${secrets}/${key}`,
		secrets,
		`${secrets}/${key}?version=2`,
		`/eso/${slug}/${key}`,
		`/eso/${slug}`,
		`${secrets}/SEALED`,
	]) {
		assert.equal(inspect(await client.get(path, { token })).status, 200);
	}
	inspect(await client.delete(`${secrets}/${key}?env=prod`, { token }));
	const refusedValue = { key: "KEY", value: hide("a refused value") };
	for (const more of [
		{ pre_encrypted: true },
		{ environment: hide("an environment") },
		{ expires_at: hide("an expiry") },
		{ key: `${hide("a bad key")} ` },
	]) {
		assert.equal((await post(secrets, { ...refusedValue, ...more })).status, 400);
	}
	assert.equal((await post("/realms/no-such-realm/secrets", refusedValue)).status, 404);
	assert.equal((await post(secrets, refusedValue, { token: "wrong" })).status, 401);
	assert.equal((await post(secrets, { ...refusedValue, value: hide("a long value").repeat(9_000) })).status, 400);
	assertFoundNothing();
});

test("tokens and realms: what they are called is in answers and the database alone", async () => {
	const made = await post<ApiToken>("/auth/tokens", {
		name: canaries.plant("database", "a token's name"),
		scopes: "read",
	});
	canaries.add(made.body.token, "an API token");
	assert.equal(inspect(await client.get("/realms", { token: made.body.token })).status, 200);
	inspect(await client.delete(`/auth/tokens/${made.body.id}`, { token: alice.token }));
	assert.equal(inspect(await client.get("/realms", { token: made.body.token })).status, 401);
	const named = { slug: unique("named"), name: canaries.plant("database", "a realm's name") };
	const described = { ...named, description: canaries.plant("database", "a description") };
	assert.equal((await post<Realm>("/realms", described)).status, 201);
	assert.equal((await post("/realms", described)).status, 409);
	assertFoundNothing();
});

test("bodies that are refused leave nothing, whatever is wrong with them", async () => {
	for (const { path, body } of everyField()) {
		const [[name, canary] = ["", ""]] = Object.entries(body);
		await post(path, { [name]: { [String(canary)]: canary } });
		await post(path, { [name]: [canary] });
		await post(path, { [String(canary)]: canary });
		const raw = JSON.stringify(body);
		for (const spoilt of [raw.slice(0, -1), `${raw}x`, `[${raw}]`, String(canary), `"${String(canary)}"`]) {
			await post(path, {}, { raw: spoilt });
		}
		await post(path, {}, { raw: Buffer.concat([Buffer.from(raw.slice(0, -2)), Buffer.from([0xff, 0x22, 0x7d])]) });
		await post(path, {}, { raw, headers: { "content-type": `text/${String(canary)}` } });
		await post(path, {}, { raw, token: "wrong" });
	}
	const huge = `{"value":"${hide("a body that is too large")}${"x".repeat(1_048_576)}"}`;
	assert.equal((await post("/encrypt", {}, { raw: huge })).status, 413);
	assertFoundNothing();
});

test("paths, queries and headers leave nothing", async () => {
	const { token } = alice;
	const paths = [
		"/CANARY",
		"/realms/CANARY",
		"/realms/SLUG/CANARY",
		"/realms/SLUG/secrets/CANARY%00",
		"/eso/CANARY",
		"/users/CANARY",
	];
	const queries = [
		"/realms/SLUG/secrets?env=CANARY",
		"/realms?limit=CANARY",
		"/realms?cursor=CANARY",
		"/realms?CANARY=CANARY",
	];
	const filters = ["realm", "type", "actor"].map((name) => `/audit/events?${name}=CANARY`);
	for (const pattern of [...paths, ...queries, ...filters]) {
		const path = pattern.replaceAll("CANARY", hide(`the path ${pattern}`)).replaceAll("SLUG", slug);
		for (const one of [token, undefined]) inspect(await client.get(path, { token: one }));
		inspect(await client.delete(path, { token }));
		inspect(await client.send("PUT", `/api/v1${path}`, { token }));
	}
	for (const name of ["user-agent", "referer", "cookie", "x-request-id", "x-forwarded-for", "accept", "traceparent"]) {
		inspect(await client.get("/realms", { token, headers: { [name]: hide(`the header ${name}`) } }));
	}
	for (const scheme of ["Bearer ", "Basic ", "", "Bearer svc_"]) {
		const authorization = scheme + hide(`the authorization ${scheme}`);
		inspect(await client.get("/realms", { headers: { authorization } }));
	}
	assertFoundNothing();
});

test("bytes that are no request leave nothing", async () => {
	for (const bytes of [
		`GET /${hide("a raw path")} HTTP/1.1\r\n\r\n`,
		`GET /api/v1/realms HTTP/1.1\r\nHost: ${hide("a host")}\r\nConnection: close\r\n\r\n`,
		`${hide("a raw line")}\r\n\r\n`,
		`GET / HTTP/1.1\r\nHost: a\r\n${hide("a raw header")}\r\n\r\n`,
		`GET /${hide("a long path")}${"x".repeat(65_536)} HTTP/1.1\r\nHost: a\r\n\r\n`,
		`POST /api/v1/encrypt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${hide("a raw chunk")}\r\n`,
	]) {
		findings.push(...canaries.findIn("error", await exchangeBytes(server, bytes)));
	}
	assertFoundNothing();
});

test("metrics and events hold nothing of it", async () => {
	const stale = await apiToken(client, alice, "read");
	canaries.add(stale.token, "an unused API token");
	findings.push(...canaries.findIn("metrics", (await client.send("GET", "/metrics")).text));
	const seen = await Promise.all([events(client, alice), events(client, root)]);
	assert.ok(seen.every((list) => list.length > 10));
	findings.push(...canaries.findIn("events", JSON.stringify(seen)));
	assertFoundNothing();
});

test("the search would find something: what may be in the database is there", async () => {
	const name = hide("a realm's name that is searched for");
	await post("/realms", { slug: unique("searched"), name });
	await server.stop();
	const data = Buffer.concat([...(await filesBelow(server.data)).values()]);
	assert.ok(data.includes(name), "the name is in the data directory");
	assert.deepEqual(canaries.findIn("data", name), ["a realm's name that is searched for is in data"]);
	assert.deepEqual(canaries.findIn("data", Buffer.from(` ${name} `).toString("base64")).length, 1);
});

test("stdout, stderr and every file of the data directory hold nothing of it", async () => {
	const found = [...canaries.findIn("stdout", server.stdout()), ...canaries.findIn("stderr", server.stderr())];
	const files = await filesBelow(server.data);
	assert.ok(files.size >= 3, "the database, the key and the certificate are there");
	for (const bytes of files.values()) found.push(...canaries.findIn("data", bytes));
	assert.deepEqual([...new Set(found)], ["a realm's name that is searched for is in data"]);
	assert.ok(canaries.size > 80 && answers.length > 300, `${canaries.size} texts in ${answers.length} requests`);
});
