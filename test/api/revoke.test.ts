import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { events, newest } from "../harness/events.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import {
	apiToken,
	bind,
	invitation,
	login,
	machine,
	machineToken,
	type Person,
	person,
	realm,
} from "../harness/fixtures.ts";
import { installMemoEngines, type MemoEngines } from "../harness/memo-engine.ts";
import type { User } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

interface Revoked {
	readonly sessions: number;
	readonly tokens: number;
	readonly leases: number;
	readonly identities: number;
}

let engines: MemoEngines;
let server: Server;
let client: Api;
let root: Person;
let slug: string;

before(async () => {
	engines = await installMemoEngines(1);
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines.folder } });
	client = api(server);
	root = await person(client, "root");
	slug = (await realm(client, root)).slug;
	const config = { token: root.token, raw: JSON.stringify({ allowed_realms: ["*"] }) };
	ok(await client.send("PUT", "/api/v1/engines/memo-1/config", config));
});
after(async () => {
	await server.close();
	await engines.remove();
});

const revoke = (body: object, { token } = root) => client.post<Revoked>("/revoke", body, { token });

/** Somebody in the realm with one token and one credential. */
async function member(name: string): Promise<{ who: Person; token: string; lease: string }> {
	const who = await person(client, name);
	await bind(client, root, slug, who, "member");
	const { token } = await apiToken(client, who, "read,write", { realm: slug });
	const made = await client.post(`/realms/${slug}/engines/memo-1/generate`, {}, { token });
	ok(made);
	return { who, token, lease: String(made.headers["x-lease-id"]) };
}

const stateOf = async (id: string) =>
	ok(await client.get<{ state: string }>(`/realms/${slug}/leases/${id}`, { token: root.token })).state;

test("everything that a user holds ends together: sessions and tokens immediately, credentials as soon as they can be removed", async () => {
	const { who, token, lease } = await member("ada");
	const second = await login(client, who);
	assert.deepEqual(ok(await revoke({ user_id: who.id })), { sessions: 2, tokens: 1, leases: 1, identities: 0 });
	for (const gone of [who.token, second, token])
		refused(await client.get("/realms", { token: gone }), 401, "unauthorized");
	await eventually("the credential is removed", async () => (await stateOf(lease)) === "revoked");
	const event = await newest(client, root, "access.revoked");
	assert.equal(event?.actor, root.id);
	assert.partialDeepStrictEqual(event.data, { user_id: who.id, sessions: 2, tokens: 1, leases: 1, identities: 0 });
	await login(client, who);
});

test("revoking a realm ends the tokens limited to it and its credentials, and nobody's session", async () => {
	const { who, token, lease } = await member("bob");
	const other = await apiToken(client, who, "read");
	const { sessions, tokens, leases } = ok(await revoke({ realm: slug }));
	assert.deepEqual([sessions, tokens, leases], [0, 1, 1]);
	refused(await client.get("/realms", { token }), 401, "unauthorized");
	ok(await client.get("/realms", { token: who.token }));
	ok(await client.get("/realms", { token: other.token }));
	await eventually("the credential is removed", async () => (await stateOf(lease)) === "revoked");
	assert.equal((await newest(client, root, "access.revoked"))?.realm, slug);
});

test("people who revoke themselves keep the session they ask with", async () => {
	const other = await login(client, root);
	const { sessions } = ok(await revoke({ user_id: root.id }));
	assert.equal(sessions, 1);
	refused(await client.get("/realms", { token: other }), 401, "unauthorized");
	ok(await client.get("/realms", { token: root.token }));
	const { token } = await apiToken(client, root, "read,write,delete");
	const again = await login(client, root);
	ok(await client.post("/revoke", { user_id: root.id }, { token }));
	ok(await client.get("/realms", { token }));
	refused(await client.get("/realms", { token: again }), 401, "unauthorized");
	root = { ...root, token: await login(client, root) };
});

/** Sends a request without its body. @returns a function that sends the body and returns the answer's status */
async function holdBack(path: string, body: object, token: string): Promise<() => Promise<number | undefined>> {
	const { hostname, port } = new URL(server.url);
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", expect: "100-continue" };
	const options = { ca: server.ca, hostname, port, method: "POST", path: `/api/v1${path}`, headers, agent: false };
	const outgoing = request(options);
	outgoing.flushHeaders();
	await once(outgoing, "continue");
	ok(await client.get("/health"));
	return async () => {
		outgoing.end(JSON.stringify(body));
		const [response] = (await once(outgoing, "response")) as [IncomingMessage];
		response.resume();
		return response.statusCode;
	};
}

test("a request sent before a revocation, with its body held back, makes nothing after it", async () => {
	const { who, token } = await member("eve");
	const asked = [
		["/auth/tokens", { name: "kept", scopes: "read,write" }],
		[`/realms/${slug}/engines/memo-1/generate`, {}],
		["/realms", { slug: "kept", name: "kept" }],
	] as const;
	const held: (() => Promise<number | undefined>)[] = [];
	for (const [path, body] of asked)
		for (const bearer of [who.token, token]) held.push(await holdBack(path, body, bearer));
	ok(await revoke({ user_id: who.id }));
	assert.deepEqual(await Promise.all(held.map((send) => send())), [401, 401, 401, 401, 401, 401]);
	const { tokens } = ok(await client.get<User & Revoked>(`/users/${who.id}`, { token: root.token }));
	assert.equal(tokens, 0);
});

test("a revocation names somebody who is there, and only the instance admin does it", async () => {
	const carol = await person(client, "carol");
	refused(await revoke({}), 400, "validation_failed");
	refused(await revoke({ user_id: crypto.randomUUID() }), 404, "not_found");
	refused(await revoke({ realm: "nowhere" }), 404, "not_found");
	refused(await revoke({ user_id: root.id }, carol), 403, "forbidden");
	ok(await client.get("/realms", { token: root.token }));
});

test("a user is shown by id and by e-mail in any spelling, with what it holds", async () => {
	const { who } = await member("dora");
	const show = async (name: string) =>
		client.get<User & Revoked>(`/users/${encodeURIComponent(name)}`, { token: root.token });
	const shown = ok(await show(who.id));
	fields(shown, [
		...["id", "email", "name", "instance_admin", "disabled", "created_at"],
		...["sessions", "tokens", "realms", "limits", "identities"],
	]);
	assert.deepEqual([shown.email, shown.sessions, shown.tokens], [who.email, 1, 1]);
	assert.deepEqual(ok(await show(` ${who.email.toUpperCase()} `)), shown);
	refused(await show("nobody@example.test"), 404, "not_found");
	refused(await client.get(`/users/${who.id}`, { token: who.token }), 403, "forbidden");
});

test("everything that a leaving user made for others is listed and ended in one request, with events in the realms", async () => {
	const [owner, leaver] = [await person(client, "owner"), await person(client, "leaver")];
	const { slug: shop } = await realm(client, owner);
	await bind(client, owner, shop, leaver, "admin");
	const [made, kept] = [await machine(client, leaver, shop), await machine(client, owner, shop)];
	const ofMade = await machineToken(client, leaver, shop, made.name);
	const ofKept = await machineToken(client, leaver, shop, kept.name);
	const { jwk } = newKey("ES256", "own");
	const trust = {
		issuer: "https://id.example.com",
		audience: "svc-shop",
		claims: { sub: "ci" },
		jwks: { keys: [jwk] },
	};
	const path = `/realms/${shop}/machines/${kept.name}/trusts`;
	ok(await client.put(`${path}/theirs`, trust, { token: leaver.token }));
	ok(await client.put(`${path}/owners`, trust, { token: owner.token }));
	const { email } = await invitation(client, leaver, { bindings: [{ realm: shop, role: "viewer" }] });
	const as = { token: root.token };
	type Made = Record<"machines" | "machine_tokens" | "trusts" | "invitations", Record<string, string>[]>;
	const look = async () => ok(await client.get<Made>(`/users/${leaver.id}/made`, as));
	const found = await look();
	assert.deepEqual(
		[found.machines[0]?.name, found.machine_tokens.map(({ id }) => id), found.invitations[0]?.email],
		[made.name, [ofKept.id, ofMade.id], email],
	);
	assert.partialDeepStrictEqual(found.trusts, [{ machine: `${shop}/${kept.name}`, name: "theirs", type: "oidc" }]);
	refused(await client.get(`/users/${leaver.id}/made`, { token: owner.token }), 403, "forbidden");
	const with_made = true;
	refused(await client.post("/revoke", { with_made, realm: shop }, as), 400, "validation_failed");
	refused(await client.post("/revoke", { with_made, user_id: leaver.id, realm: shop }, as), 400, "validation_failed");
	const kinds = ["machines", "machine_tokens", "trusts", "invitations"] as const;
	const usual = ok(await client.post<Record<string, number>>("/revoke", { user_id: leaver.id }, as));
	assert.deepEqual(
		kinds.map((kind) => usual[kind]),
		[undefined, undefined, undefined, undefined],
	);
	const counts = ok(await client.post<Record<string, number>>("/revoke", { user_id: leaver.id, with_made }, as));
	assert.deepEqual(
		kinds.map((kind) => counts[kind]),
		[1, 2, 1, 1],
	);
	assert.deepEqual(await look(), { machines: [], machine_tokens: [], trusts: [], invitations: [], identities: [] });
	for (const { token } of [ofMade, ofKept]) refused(await client.get("/auth/whoami", { token }), 401);
	refused(await client.get(`${path}/theirs`, { token: owner.token }), 404, "not_found");
	ok(await client.get(`${path}/owners`, { token: owner.token }));
	const [recorded] = await events(client, owner, `realm=${shop}&type=access.revoked`);
	assert.deepEqual([recorded?.data.user_id, recorded?.data.with_made], [leaver.id, true]);
	const verified = ok(await client.get<{ status: string; differences?: unknown[] }>("/audit/verify", as));
	assert.deepEqual([verified.status, verified.differences ?? []], ["intact", []]);
});
