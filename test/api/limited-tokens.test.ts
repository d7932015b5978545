/* What a token that is limited to an environment, or to roles of engines, reaches beyond that: nothing. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer, Api } from "../harness/client.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

let world: EngineWorld;
let client: Api;
let owner: Person;
let stranger: Person;
/** Slug of the owner's realm, which has KEY in dev and in prod. */
let slug: string;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	world = await startEngineWorld();
	ends.defer(world.close);
	client = world.client;
	owner = await person(client, "owner");
	stranger = await person(client, "stranger");
	({ slug } = await realm(client, owner));
	for (const environment of ["dev", "prod"]) await secret(client, owner, slug, "KEY", "a value", { environment });
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

/** A token of the realm's owner. */
const limited = async (scopes: string, limits: object) => (await apiToken(client, owner, scopes, limits)).token;

const generate = (token: string, type: string, params: object): Promise<Answer> =>
	client.post(`/realms/${slug}/engines/${type}/generate`, params, { token });

const denied = (answer: Answer): void => refused(answer, 403, "insufficient_scope");

test("a token that writes dev binds nobody to the realm", async () => {
	const token = await limited("write", { environment: "dev" });
	const body = { user_id: stranger.id, role: "admin" };
	denied(await client.post(`/realms/${slug}/policy/bindings`, body, { token }));
	refused(await client.get(`/realms/${slug}`, { token: stranger.token }), 404, "not_found");
});

test("a token that deletes in dev does not delete the realm, nor who is in it", async () => {
	const token = await limited("delete", { environment: "dev" });
	denied(await client.delete(`/realms/${slug}`, { token }));
	denied(await client.delete(`/realms/${slug}/policy/bindings/${stranger.id}`, { token }));
	ok(await client.get(`${secretPath(slug, "KEY")}?env=prod`, { token: owner.token }));
});

test("a token that reads dev gets no certificate, no one-time password, and is told of no engine", async () => {
	const token = await limited("read", { environment: "dev" });
	denied(await generate(token, "pki", { common_name: "a.example.com", role: "client" }));
	denied(await generate(token, "totp", { issuer: "Example", account: "ada@example.com" }));
	denied(await client.post(`/realms/${slug}/engines/totp/validate`, { secret: "A", code: "000000" }, { token }));
	denied(await client.get("/engines", { token }));
});

test("a token that reads dev gets no credentials of Redis", { skip: skipWithoutRedis }, async () => {
	const token = await limited("read", { environment: "dev" });
	denied(await generate(token, "keyvalue", { role: "readonly" }));
	const { leases } = ok(await client.get<{ leases: object[] }>(`/realms/${slug}/leases`, { token: owner.token }));
	assert.deepEqual(leases, []);
});

test("a token that reads dev sees no events: those of prod are among them", async () => {
	const token = await limited("read", { environment: "dev" });
	for (const list of ["events", "export"]) {
		denied(await client.get(`/audit/${list}`, { token }));
		denied(await client.get(`/audit/${list}?realm=${slug}`, { token }));
	}
});

test("the instance admin's token for an environment does not manage the instance, nor bind itself anywhere", async () => {
	const { token } = await apiToken(client, world.admin, "read,write,delete", { environment: "dev" });
	for (const path of ["/users", "/keys", "/doctor", "/backups", "/leases", "/audit/verify", "/engines/keyvalue/config"])
		denied(await client.get(path, { token }));
	denied(await client.post("/revoke", { user_id: stranger.id }, { token }));
	const body = { user_id: world.admin.id, role: "admin" };
	refused(await client.post(`/realms/${slug}/policy/bindings`, body, { token }), 403, "forbidden");
	ok(await client.post(`/realms/${slug}/policy/bindings`, body, { token: world.admin.token }), 201);
});

test("a refusal says nothing of whether there is such a realm, or a role in it, and is in the log", async () => {
	const token = await limited("read,write,delete", { environment: "dev" });
	refused(await client.get("/realms/no-such-realm", { token }), 404, "not_found");
	const { slug: foreign } = await realm(client, stranger);
	refused(await client.get(`/realms/${foreign}`, { token }), 404, "not_found");
	denied(await client.get(`/realms/${slug}`, { token }));
	const [event] = await events(client, owner, `type=access.denied&realm=${slug}`);
	assert.deepEqual([event?.data.wanted, event?.data.reason], ["secrets:read", "insufficient_scope"]);
});
