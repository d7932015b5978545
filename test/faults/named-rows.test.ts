import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { createCli } from "../harness/cli.ts";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, login, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Report {
	readonly status: string;
	readonly differences: { kind: string; id: string; name?: string; problem: string; seq?: number }[];
	readonly strange: { type: string; kind: string; id: string; problem: string; ended_by?: number }[];
	readonly named_from?: number;
}

let server: Server;
let client: Api;
let admin: Person;
let member: Person;
let slug: string;
/** Changes the database while the server runs: nothing notices it until the next integrity check. */
let other: DatabaseSync;

before(async () => {
	server = await startServer();
	client = api(server);
	admin = await person(client, "admin");
	member = await person(client, "member");
	slug = (await realm(client, admin)).slug;
	await secret(client, admin, slug, "FIRST", "value");
	await bind(client, admin, slug, member, "viewer");
	other = new DatabaseSync(join(server.data, "svc.db"));
	other.exec("PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY");
});
after(async () => {
	other.close();
	await server.close();
});

const verified = async () => ok(await client.get<Report>("/audit/verify", { token: admin.token }));
const describe = ({ differences }: Report) =>
	differences.map(({ kind, id, problem, name }) => `${kind} ${id} (${name}) ${problem}`);

let keeps = 0;

/** Keeps rows as they are now, and returns the function that puts them back. */
function kept(table: string, where: string): () => void {
	const copy = `temp.kept_${keeps++}`;
	other.exec(`CREATE TABLE ${copy} AS SELECT * FROM main.${table} WHERE ${where}`);
	return () => other.exec(`DELETE FROM main.${table} WHERE ${where}; INSERT INTO main.${table} SELECT * FROM ${copy}`);
}

/** Removes again what was put back. */
const remove = (table: string, where: string) => other.exec(`DELETE FROM main.${table} WHERE ${where}`);

test("events name the rows that they made, changed and ended, and members learn no more of them", async () => {
	const { id } = await apiToken(client, member, "read");
	const [created] = await events(client, member, "type=auth.token.created");
	assert.match(created?.rows ?? "", new RegExp(`^api_token/${id}=[0-9a-f]{24}$`));
	ok(await client.delete(`/auth/tokens/${id}`, { token: member.token }));
	const [revoked] = await events(client, member, "type=auth.token.revoked");
	assert.equal(revoked?.rows, `api_token/${id}`);
	const { status, named_from, differences, strange } = await verified();
	assert.deepEqual([status, named_from, differences, strange], ["intact", 1, [], []]);
});

test("a revoked token that is put back is named with the event that ended it, and so is what it did", async () => {
	const { id, token, name } = await apiToken(client, member, "read");
	const where = `id = '${id}'`;
	const putBack = kept("api_token", where);
	ok(await client.delete(`/auth/tokens/${id}`, { token: member.token }));
	refused(await client.get("/realms", { token }), 401);
	putBack();
	ok(await client.post("/auth/tokens", { name: "copy", scopes: "read" }, { token }), 201);
	const found = await verified();
	const [copy] = found.differences.filter(({ problem }) => problem !== "ended");
	assert.equal(copy, undefined, "what it made was granted");
	assert.deepEqual([found.status, describe(found)], ["rows_differ", [`token ${id} (${name}) ended`]]);
	assert.deepEqual(
		found.strange.map(({ type, kind, id: who, problem }) => [type, kind, who, problem]),
		[["auth.token.created", "token", id, "ended"]],
	);
	const [seq] = found.differences.map((one) => one.seq);
	assert.equal(found.strange[0]?.ended_by, seq);
	remove("api_token", where);
	const later = await verified();
	assert.deepEqual([later.status, later.differences.length, later.strange.length], ["events_differ", 0, 1]);
});

test("an ended session that is put back is named, with the account it is of", async () => {
	const token = await login(client, member);
	const jti = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).jti as string;
	const putBack = kept("session", `jti = '${jti}'`);
	ok(await client.post("/auth/logout", undefined, { token }));
	putBack();
	assert.deepEqual(describe(await verified()), [`session ${jti} (${member.email}) ended`]);
	remove("session", `jti = '${jti}'`);
});

test("an old password that is put back is named with the change that it undoes", async () => {
	const where = `id = '${member.id}'`;
	const putBack = kept("account", where);
	const change = { current_password: member.password, new_password: "another good password" };
	ok(await client.post("/auth/password", change, { token: member.token }));
	const changed = kept("account", where);
	putBack();
	const { status, differences } = await verified();
	assert.equal(status, "rows_differ");
	assert.deepEqual(
		differences.map(({ kind, id, problem }) => `${kind} ${id} ${problem}`),
		[`account ${member.id} changed`],
	);
	const all = await events(client, admin);
	assert.equal(all.at(-(differences[0]?.seq ?? 0))?.type, "auth.password.changed");
	changed();
	assert.deepEqual((await verified()).differences, []);
});

test("a removed role that is put back, and a limit and a key that are forged, are named", async () => {
	const where = `user_id = '${member.id}'`;
	const putBack = kept("binding", where);
	ok(await client.delete(`/realms/${slug}/policy/bindings/${member.id}`, { token: admin.token }));
	putBack();
	other.exec(`INSERT INTO main.account_limit (user_id, realms) VALUES ('${member.id}', 9)`);
	const key = "0102030405060708";
	other.exec(
		`INSERT INTO main.keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (x'${key}', 'session', 'x', 'retired', zeroblob(73), '')`,
	);
	const found = describe(await verified()).map((line) => line.split(" ").toSpliced(1, 1).join(" "));
	assert.deepEqual(
		new Set(found.map((line) => line.replace(/ .* /, " "))),
		new Set(["binding ended", "limit unknown", "key unknown"]),
	);
	const { code, stdout } = await (await createCli(server, admin)).run(["audit", "verify"]);
	assert.equal(code, 1);
	assert.match(stdout, new RegExp(`limit ${member.id} \\(${member.email}\\) .*unknown`));
	for (const [table, of] of [
		["binding", where],
		["account_limit", where],
		["keyring", `id = x'${key}'`],
	] as const)
		remove(table, of);
});

test("doctor --deep names what does not fit, and finds nothing when all does", async () => {
	ok(await client.get(secretPath(slug, "FIRST"), { token: admin.token }));
	const { stdout } = await (await createCli(server, admin)).run(["doctor", "--deep", "--json"]);
	const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] };
	const rights = checks.find(({ name }) => name === "rights");
	assert.equal(rights?.status, "failed");
	assert.match(rights?.message ?? "", /\bevent\b/);
});
