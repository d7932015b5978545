import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, login, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { honest, startFakeLdap } from "../peers/ldap-fake.ts";

interface Report {
	readonly status: string;
	readonly differences: unknown[];
	readonly strange: unknown[];
	readonly named_from?: number;
}

let server: Server;
let client: Api;
let admin: Person;
let people: Person[];
let directory: Awaited<ReturnType<typeof startFakeLdap>>;

before(async () => {
	server = await startServer();
	client = api(server);
	admin = await person(client, "admin");
	directory = await startFakeLdap(honest);
	people = [];
	for (const name of ["ada", "bob", "eve"]) people.push(await person(client, name));
});
after(async () => {
	await directory.stop();
	await server.close();
});

const post = (path: string, body?: object, token = admin.token) => client.post(path, body, { token });
const put = (path: string, body: object) =>
	client.send("PUT", `/api/v1${path}`, { token: admin.token, raw: JSON.stringify(body) });
const remove = (path: string, token = admin.token) => client.delete(path, { token });

/** Everybody signs in again: a restore ends every session. */
async function restarted(): Promise<void> {
	await server.restart();
	client = api(server);
	admin = { ...admin, token: await login(client, admin) };
}

async function expectSound(): Promise<Report> {
	const report = ok(await client.get<Report>("/audit/verify", { token: admin.token }));
	assert.deepEqual([report.differences, report.strange, report.status], [[], [], "intact"]);
	return report;
}

/** Does once what makes, changes and ends rows of every kind that people can make. */
async function live(): Promise<void> {
	const [ada = admin, bob = admin, eve = admin] = people;
	const [token, session] = await Promise.all([apiToken(client, ada, "read,write,delete"), login(client, ada)]);
	const inner = ok(
		await client.post<{ id: string }>("/auth/tokens", { name: "inner", scopes: "read" }, { token: token.token }),
		201,
	);
	ok(await client.get("/realms", { token: token.token }));
	const made = await realm(client, ada);
	const gone = await realm(client, ada);
	await secret(client, ada, made.slug, "KEY", "value");
	await bind(client, ada, made.slug, bob, "member");
	await bind(client, ada, made.slug, eve, "viewer");
	ok(await remove(`/realms/${made.slug}/policy/bindings/${bob.id}`, ada.token));
	ok(await remove(`/auth/tokens/${token.id}`, token.token));
	assert.ok(inner.id);
	ok(await post("/auth/logout", undefined, session));
	const [old, fresh] = [ada.password, `${ada.password} again`];
	for (const [current_password, new_password] of [
		[old, fresh],
		[fresh, old],
	])
		ok(await post("/auth/password", { current_password, new_password }, ada.token));
	ok(await put(`/users/${bob.id}/limits`, { realm_bytes: 1_000_000, realms: 7 }));
	ok(await put(`/users/${bob.id}/limits`, { realm_bytes: null, realms: null }));
	ok(await post(`/users/${eve.id}/disable`));
	ok(await post(`/users/${eve.id}/enable`));
	ok(await post("/revoke", { user_id: bob.id }));
	for (const config of [{ allowed_realms: ["*"] }, { allowed_realms: [made.slug] }])
		ok(await put("/engines/totp/config", config));
	ok(await remove("/engines/totp/config"));
	await signOn();
	ok(await remove(`/realms/${gone.slug}`, ada.token));
	for (const purpose of ["record", "portable", "session", "cursor", "checkpoint", "rows"])
		ok(await post("/keys/rotate", { purpose }));
	ok(await post("/keys/rotate", { purpose: "record", realm: made.slug }));
}

/** Signs alice in at a provider; another one is linked to bob, and unlinked. */
async function signOn(): Promise<void> {
	const bob = people[1] ?? admin;
	const { url, ca } = directory;
	const config = { url, ca_cert: ca, user_base_dn: "ou=people,dc=test" };
	const alice = { username: "alice", password: "whatever" };
	for (const name of ["corp", "other"]) ok(await put(`/auth/providers/${name}`, { type: "ldap", config }));
	const { token } = ok(await client.post<{ token: string }>("/auth/ldap/corp/login", alice));
	ok(await client.get("/realms", { token }));
	const session = await login(client, bob);
	const linking = { ...alice, current_password: bob.password };
	ok(await client.post("/auth/ldap/other/link", linking, { token: session }));
	const { identities } = ok(await client.get<{ identities: { id: string }[] }>("/auth/identities", { token: session }));
	const raw = JSON.stringify({ current_password: bob.password });
	ok(await client.send("DELETE", `/api/v1/auth/identities/${identities[0]?.id}`, { token: session, raw }));
	ok(await remove("/auth/providers/other"));
}

test("a sound instance has no finding after a varied life, a backup, a restore and an adoption", async () => {
	await live();
	assert.equal((await expectSound()).named_from, 1);
	const { name } = ok(await client.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	admin = { ...admin, token: await login(client, admin) };
	await expectSound();
	await server.stop();
	cpSync(join(server.data, "backups", name), join(server.data, "kept.db"));
	const restored = await runLocal(server.data, ["restore", join(server.data, "kept.db"), "--replace", "--yes"]);
	assert.equal(restored.code, 0, restored.stderr);
	await restarted();
	await expectSound();
	people = await Promise.all(people.map(async (one) => ({ ...one, token: await login(client, one) })));
	await live();
	await expectSound();
	await server.stop();
	const adopted = await runLocal(server.data, ["adopt", "--again", "--yes"]);
	assert.equal(adopted.code, 0, adopted.stderr);
	assert.doesNotMatch(adopted.stderr, /not as|strange/);
	await restarted();
	await live();
	await expectSound();
});
