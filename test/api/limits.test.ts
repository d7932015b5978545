import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { createCli } from "../harness/cli.ts";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, type Person, person, realm, secretPath } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const KIB = 1024;

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer({ env: { SVC_LIMITS_REALM_BYTES: String(64 * KIB), SVC_LIMITS_REALMS_PER_ACCOUNT: "3" } });
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

const set = (by: Person, slug: string, key: string, bytes: number, environment = "dev"): Promise<Answer> =>
	client.post(`/realms/${slug}/secrets`, { key, value: "v".repeat(bytes), environment }, { token: by.token });
const limit = (user: string, body: object, by = root): Promise<Answer> =>
	client.send("PUT", `/api/v1/users/${user}/limits`, { token: by.token, raw: JSON.stringify(body) });
const isFull = (answer: Answer) => {
	refused(answer, 409, "limit_reached");
	assert.match(answer.text, /limits\.realm_bytes.*svc users limits/);
};
const names = (lines: readonly string[], ...parts: string[]) =>
	lines.some((line) => parts.every((part) => line.includes(part)));

test("a realm takes secrets until it is full; then it says which limit that is and what to do, and a purge makes room", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	for (const key of ["A", "B", "C"]) ok(await set(ada, slug, key, 20 * KIB), 201);
	isFull(await set(ada, slug, "D", 8 * KIB));
	assert.equal((await client.get(secretPath(slug, "D"), { token: ada.token })).status, 404);
	for (const key of ["A", "B", "C"]) ok(await client.get(secretPath(slug, key), { token: ada.token }));
	isFull(await set(ada, slug, "A", 20 * KIB));
	ok(await client.delete(`${secretPath(slug, "B")}?purge=true`, { token: ada.token }));
	ok(await set(ada, slug, "D", 8 * KIB), 201);
});

test("neither a rollback nor a promotion goes past a realm's limit", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	for (const key of ["A", "A", "B"]) ok(await set(ada, slug, key, 20 * KIB), 201);
	isFull(await client.post(`${secretPath(slug, "A")}/rollback?env=dev`, { version: 1 }, { token: ada.token }));
	const promotion = { from: "dev", to: "prod", secrets: [{ key: "A" }] };
	isFull(await client.post(`/realms/${slug}/promote`, promotion, { token: ada.token }));
	refused(await client.get(`${secretPath(slug, "A")}?env=prod`, { token: ada.token }), 404, "not_found");
});

test("an account owns as many realms as it may; deleting one makes no room, for it can still be restored", async () => {
	const ada = await person(client, "ada");
	const slugs = [await realm(client, ada), await realm(client, ada), await realm(client, ada)].map(({ slug }) => slug);
	const more = () => client.post("/realms", { slug: `${slugs[0]}-more`, name: "More" }, { token: ada.token });
	const answer = await more();
	refused(answer, 409, "limit_reached");
	assert.match(answer.text, /limits\.realms_per_account.*svc users limits/);
	ok(await client.delete(`/realms/${slugs[0]}`, { token: ada.token }));
	refused(await more(), 409, "limit_reached");
	ok(await limit(ada.id, { realms: 4 }));
	ok(await more(), 201);
});

test("the instance admin gives an account limits of its own, which take effect immediately, are shown, and are in the log", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	isFull(await set(ada, slug, "A", 65 * KIB));
	const limits = { realm_bytes: 100 * KIB, realms: null };
	assert.deepEqual(ok(await limit(ada.id, { realm_bytes: 100 * KIB })), limits);
	ok(await set(ada, slug, "A", 65 * KIB), 201);
	const shown = ok(await client.get<object>(`/users/${ada.id}`, { token: root.token }));
	assert.partialDeepStrictEqual(shown, { limits, realms: 1 });
	assert.deepEqual(ok(await limit(ada.id, {})), { realm_bytes: null, realms: null });
	isFull(await set(ada, slug, "B", 1 * KIB));
	ok(await client.get(secretPath(slug, "A"), { token: ada.token }), 200);
	const changes = (await events(client, root, "type=user.limits.set")).map(({ data }) => data);
	const facts = changes
		.filter(({ user_id }) => user_id === ada.id)
		.map(({ request_id, ip, token_id, session_id, ...rest }) => rest);
	assert.deepEqual(facts, [
		{ user_id: ada.id, realm_bytes: "default", realms: "default" },
		{ user_id: ada.id, realm_bytes: 100 * KIB, realms: "default" },
	]);
});

test("a member's writes count for the realm's owner, whose limit it is", async () => {
	const [ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	const { slug } = await realm(client, ada);
	ok(
		await client.post(`/realms/${slug}/policy/bindings`, { user_id: bob.id, role: "member" }, { token: ada.token }),
		201,
	);
	ok(await limit(bob.id, { realm_bytes: 1024 * KIB }));
	isFull(await set(bob, slug, "A", 65 * KIB));
	ok(await limit(ada.id, { realm_bytes: 1024 * KIB }));
	ok(await set(bob, slug, "A", 65 * KIB), 201);
});

test("limits are whole numbers or null, of an account that there is, and only the instance admin sets them", async () => {
	const ada = await person(client, "ada");
	for (const body of [
		{ realms: -1 },
		{ realms: 1.5 },
		{ realms: "5" },
		{ realm_bytes: 2 ** 41 },
		{ realm_bytes: true },
	])
		refused(await limit(ada.id, body), 400, "validation_failed");
	refused(await limit(crypto.randomUUID(), { realms: 1 }), 404, "not_found");
	refused(await limit(ada.id, { realms: 1 }, ada), 403, "forbidden");
	const { token } = await apiToken(client, root, "read");
	refused(await limit(ada.id, { realms: 1 }, { ...root, token }), 403, "insufficient_scope");
});

test("the instance admin sees which realms and accounts are nearly full, or over a limit, and metrics show how near the fullest is", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	ok(await set(ada, slug, "A", 52 * KIB), 201);
	await realm(client, ada);
	const messages = async () =>
		ok(await client.get<{ checks: { name: string; message: string }[] }>("/doctor", { token: root.token }))
			.checks.filter(({ name }) => name === "limits")
			.map(({ message }) => message);
	assert.ok(names(await messages(), "realm_bytes", slug, " 53,"), "80 %");
	assert.ok(!(await messages()).some((line) => line.includes(ada.email)), "two of three");
	await realm(client, ada);
	assert.ok(names(await messages(), "realms_per_account", ada.email, " 3 of 3 "));
	ok(await limit(ada.id, { realm_bytes: 10 * KIB, realms: 10 }));
	assert.ok(names(await messages(), "realm_bytes", slug, " 53,", " of 10,240 "));
	assert.ok(!(await messages()).some((line) => line.includes(ada.email)));
	ok(await client.get(secretPath(slug, "A"), { token: ada.token }));
	const { text } = await client.send("GET", "/metrics");
	assert.ok(Number(/^svc_limit_used\{limit="realm_bytes"\} (\d+)$/m.exec(text)?.[1]) > 64 * KIB, text);
	assert.match(text, /^svc_limit_max\{limit="realms_per_account"\} 3$/m);
	for (const name of ["realm_bytes", "realms_per_account"])
		assert.match(text, new RegExp(`^svc_limit_refused_total\\{limit="${name}"\\} [1-9]`, "m"));
	assert.ok(!text.includes(slug) && !text.includes(ada.email));
});

test("one thing too many of an account or a realm is refused under the limit's name, counted, and warned of at four fifths", async () => {
	const [ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	const { id, slug } = await realm(client, ada);
	const db = new DatabaseSync(join(server.data, "svc.db"), { timeout: 5000 });
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, created_at)
		SELECT hex(randomblob(16)), '${ada.id}', '', '', randomblob(32), 'read', '' FROM n`);
	db.exec("PRAGMA foreign_keys = OFF");
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		INSERT INTO binding (id, realm_id, user_id, role, granted_by, created_at)
		SELECT hex(randomblob(16)), '${id}', 'user ' || i, 'viewer', '', '' FROM n UNION ALL
		SELECT hex(randomblob(16)), 'realm ' || i, '${bob.id}', 'viewer', '', '' FROM n`);
	db.close();
	const token = await client.post("/auth/tokens", { name: "ci" }, { token: ada.token });
	refused(token, 409, "limit_reached");
	assert.match(token.text, /tokens_per_account, 1000\b.*`svc token revoke/);
	const bound = await client.post(
		`/realms/${slug}/policy/bindings`,
		{ user_id: bob.id, role: "viewer" },
		{ token: ada.token },
	);
	refused(bound, 409, "limit_reached");
	assert.match(bound.text, /bindings_per_realm, 1000\b.*svc binding remove/);
	const room = await realm(client, ada);
	const tooMany = await client.post(
		`/realms/${room.slug}/policy/bindings`,
		{ user_id: bob.id, role: "viewer" },
		{ token: ada.token },
	);
	refused(tooMany, 409, "limit_reached");
	assert.match(tooMany.text, /bindings_per_account, 1000/);
	const { text } = await client.send("GET", "/metrics");
	for (const name of ["tokens_per_account", "bindings_per_realm", "bindings_per_account"]) {
		assert.match(text, new RegExp(`^svc_limit_max\\{limit="${name}"\\} 1000$`, "m"));
		assert.match(text, new RegExp(`^svc_limit_refused_total\\{limit="${name}"\\} 1$`, "m"));
	}
	assert.match(text, /^svc_limit_max\{limit="sessions_per_account"\} 200$/m);
	assert.match(text, /^svc_limit_used\{limit="accounts"\} \d+$/m);
	const { checks } = ok(await client.get<{ checks: { message: string }[] }>("/doctor", { token: root.token }));
	const messages = checks.map(({ message }) => message);
	assert.ok(names(messages, "tokens_per_account", ada.email, " 1,000 of 1,000 "));
	assert.ok(names(messages, "bindings_per_realm", slug, " 1,000 of 1,000 "));
});

test("machines and their tokens have limits, which refusals, metrics and doctor show", async () => {
	const ada = await person(client, "ada");
	const { id, slug } = await realm(client, ada);
	const machines = `/api/v1/realms/${slug}/machines`;
	const set = (name: string) =>
		client.send("PUT", `${machines}/${name}`, { token: ada.token, raw: JSON.stringify({ role: "viewer" }) });
	ok(await set("deploy"));
	const db = new DatabaseSync(join(server.data, "svc.db"), { timeout: 5000 });
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 249)
		INSERT INTO machine (id, realm_id, name, role, scopes, description, created_by, created_at)
		SELECT hex(randomblob(16)), '${id}', 'm' || i, 'viewer', 'read', '', '', '' FROM n`);
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
		INSERT INTO machine_token (id, machine_id, name, prefix, digest, created_by, created_at, expires_at)
		SELECT hex(randomblob(16)), id, '', '', randomblob(32), '', '', '2999-01-01T00:00:00.000Z'
		FROM n, machine WHERE machine.name = 'deploy'`);
	db.close();
	refused(await set("one-more"), 409, "limit_reached");
	const token = await client.send("POST", `${machines}/deploy/tokens`, { token: ada.token, raw: '{"ttl":"1h"}' });
	refused(token, 409, "limit_reached");
	assert.match(token.text, /tokens_per_machine, 100.*svc machine token revoke/);
	const { checks } = ok(await client.get<{ checks: { message: string }[] }>("/doctor", { token: root.token }));
	const messages = checks.map(({ message }) => message);
	assert.ok(names(messages, "machines_per_realm", slug, " 250 of 250 "));
	assert.ok(names(messages, "tokens_per_machine", `${slug}/deploy`, " 100 of 100 "));
	const { text } = await client.send("GET", "/metrics");
	for (const [name, max] of [
		["machines_per_realm", 250],
		["tokens_per_machine", 100],
	] as const) {
		assert.match(text, new RegExp(`^svc_limit_max\\{limit="${name}"\\} ${max}$`, "m"));
		assert.match(text, new RegExp(`^svc_limit_refused_total\\{limit="${name}"\\} 1$`, "m"));
	}
});

test("open invitations and second factors have limits, which refusals, metrics and doctor show", async () => {
	const ada = await person(client, "ada");
	const { id, slug } = await realm(client, ada);
	const db = new DatabaseSync(join(server.data, "svc.db"), { timeout: 5000 });
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
		INSERT INTO invitation (id, email, digest, created_by, created_at, expires_at)
		SELECT 'invitation ' || i, i || '@example.com', randomblob(32), '${ada.id}', '', '2999-01-01T00:00:00.000Z' FROM n`);
	db.exec(`INSERT INTO invitation_binding (invitation_id, realm_id, role)
		SELECT id, '${id}', 'viewer' FROM invitation WHERE created_by = '${ada.id}' LIMIT 50`);
	db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
		INSERT INTO factor (id, user_id, type, sealed, last_step, created_at, confirmed_at)
		SELECT hex(randomblob(16)), '${ada.id}', 'totp', randomblob(32), 0, '', '2030-01-01T00:00:00.000Z' FROM n`);
	db.close();
	const invite = (name: string, bindings: object[]) =>
		client.post("/invitations", { email: `${name}@example.net`, bindings }, { token: ada.token });
	refused(await invite("one", [{ realm: slug, role: "viewer" }]), 409, "limit_reached");
	ok(await invite("two", []), 201);
	refused(await invite("three", []), 409, "limit_reached");
	const { text } = await client.send("GET", "/metrics");
	for (const [name, max] of Object.entries({ invitations_per_account: 100, invitations_per_realm: 50 })) {
		assert.match(text, new RegExp(`^svc_limit_max\\{limit="${name}"\\} ${max}$`, "m"));
		assert.match(text, new RegExp(`^svc_limit_refused_total\\{limit="${name}"\\} 1$`, "m"));
	}
	const { checks } = ok(await client.get<{ checks: { message: string }[] }>("/doctor", { token: root.token }));
	const messages = checks.map(({ message }) => message);
	assert.ok(names(messages, "invitations_per_account", ada.email, " 100 of 100 "));
	assert.ok(names(messages, "invitations_per_realm", slug, " 50 of 50 "));
	assert.ok(names(messages, "factors_per_account", ada.email, " 10 of 10 "));
});

test("svc users limits shows and changes them", async () => {
	const ada = await person(client, "ada");
	const cli = await createCli(server, root);
	after(() => cli.close());
	const { stdout, code } = await cli.run(["users", "limits", ada.email, "--realm-bytes", "1MiB"]);
	assert.equal(code, 0);
	assert.match(stdout, / 1048576\n/);
	assert.match((await cli.run(["users", "show", ada.email])).stdout, /bytes +1048576$/m);
});
