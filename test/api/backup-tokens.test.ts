import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, ending, type Person, person } from "../harness/fixtures.ts";
import type { ApiToken } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
	alice = await person(client, "alice");
});
after(() => server.close());

type Made = ApiToken & { purpose?: string };

const make = (token: string, given: object = {}): Promise<Answer<Made>> =>
	client.post<Made>("/auth/tokens", { name: "nightly", purpose: "backup", ...given }, { token });
const setAdmin = (who: Person, instance_admin: boolean) =>
	client.send("PUT", `/api/v1/users/${who.id}`, { token: root.token, raw: JSON.stringify({ instance_admin }) });
const backUp = (token: string) => client.post<{ name: string }>("/backups", undefined, { token });

test("a backup token makes, lists and downloads backups, and shows its purpose", async () => {
	const made = ok(await make(root.token), 201);
	assert.deepEqual([made.purpose, made.scopes], ["backup", ""]);
	const { name } = ok(await backUp(made.token), 201);
	const { backups } = ok(await client.get<{ backups: { name: string }[] }>("/backups", { token: made.token }));
	assert.equal(backups[0]?.name, name);
	assert.match((await client.get(`/backups/${name}`, { token: made.token })).text, /^SQLite format 3/);
	const { tokens } = ok(await client.get<{ tokens: Made[] }>("/auth/tokens", { token: root.token }));
	assert.equal(tokens.find(({ id }) => id === made.id)?.purpose, "backup");
	const ordinary = await apiToken(client, root, "read");
	assert.ok(!("purpose" in ordinary));
	const recorded = (await events(client, root, "type=backup.created")).find(({ data }) => data.name === name);
	assert.deepEqual([recorded?.actor, recorded?.data.token_id], [root.id, made.id]);
	const verdict = ok(
		await client.get<{ differences: unknown[]; strange: unknown[] }>("/audit/verify", { token: root.token }),
	);
	assert.deepEqual([verdict.differences, verdict.strange], [[], []]);
});

test("everything else is refused, and the refusal is in the log", async () => {
	const { token, id } = ok(await make(root.token), 201);
	const paths = ["/auth/whoami", "/auth/tokens", "/realms", "/users", "/keys", "/doctor", "/audit/export", "/engines"];
	for (const path of paths) refused(await client.get(path, { token }), 403, "insufficient_scope");
	refused(await make(token), 403, "insufficient_scope");
	refused(await client.post("/auth/tokens", { name: "more", scopes: "read" }, { token }), 403, "insufficient_scope");
	refused(await client.delete(`/auth/tokens/${id}`, { token }), 403, "insufficient_scope");
	refused(await client.post("/keys/rotate", { purpose: "data" }, { token }), 403, "insufficient_scope");
	const recorded = (await events(client, root, "type=access.denied")).filter(({ data }) => data.token_id === id);
	assert.equal(recorded.length, paths.length + 4);
	assert.ok(recorded.every(({ data }) => data.wanted === "backup"));
});

test("only the instance admin makes one, in a session, without scopes or limits", async () => {
	refused(await make(alice.token), 403, "forbidden");
	const { token } = await apiToken(client, root, "read,write,delete");
	refused(await make(token), 400, "unsupported_operation");
	const given = [{ scopes: "read,write" }, { environment: "prod" }, { realm: "shop" }, { engines: ["totp"] }];
	for (const one of [...given, { expires_at: "2020-01-01T00:00:00Z" }, { purpose: "restore" }, { purpose: true }])
		refused(await make(root.token, one), 400, "validation_failed");
});

test("it ends when it is revoked and when it expires", async () => {
	const revoked = ok(await make(root.token), 201);
	ok(await client.delete(`/auth/tokens/${revoked.id}`, { token: root.token }));
	refused(await backUp(revoked.token), 401, "unauthorized");
	const [short, end_ms] = await ending((expires_at) => make(root.token, { expires_at }));
	await pause(Math.max(0, end_ms - Date.now() + 50));
	refused(await backUp(short.token), 401, "unauthorized");
});

test("it is useless as soon as its maker is no longer an instance admin, or is disabled", async () => {
	ok(await setAdmin(alice, true));
	const { token } = ok(await make(alice.token), 201);
	const { name } = ok(await backUp(token), 201);
	ok(await setAdmin(alice, false));
	refused(await backUp(token), 403, "forbidden");
	refused(await client.get("/backups", { token }), 403, "forbidden");
	refused(await client.get(`/backups/${name}`, { token }), 403, "forbidden");
	ok(await setAdmin(alice, true));
	ok(await client.post(`/users/${alice.id}/disable`, undefined, { token: root.token }));
	refused(await client.get(`/backups/${name}`, { token }), 401, "unauthorized");
});
