/* A token limited to an environment or to roles of engines reaches nothing beyond them. Design: §13 */
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
/** Slug of the owner's realm, which has KEY in dev and prod. */
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

/** Makes a token of the realm's owner. */
const limited = async (scopes: string, limits: object) => (await apiToken(client, owner, scopes, limits)).token;

const generate = (token: string, type: string, params: object): Promise<Answer> =>
	client.post(`/realms/${slug}/engines/${type}/generate`, params, { token });

const validate = (token: string, type: string, params: object): Promise<Answer> =>
	client.post(`/realms/${slug}/engines/${type}/validate`, params, { token });

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

test("a token that reads dev gets no certificate, no one-time password, and sees no engine", async () => {
	const token = await limited("read", { environment: "dev" });
	denied(await generate(token, "pki", { common_name: "a.example.com", role: "client" }));
	denied(await generate(token, "totp", { issuer: "Example", account: "ada@example.com" }));
	denied(await validate(token, "totp", { secret: "A", code: "000000" }));
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

test("a token for a role of an engine makes and revokes its credentials, in its realm, and does nothing else of engines", {
	skip: skipWithoutRedis,
}, async () => {
	const token = await limited("read,write,delete", { realm: slug, engines: ["keyvalue:readonly"] });
	const made = await generate(token, "keyvalue", { role: "readonly" });
	const { username } = ok(made) as { username: string };
	ok(await generate(token, "keyvalue", {}));
	for (const role of ["readwrite", "admin"]) denied(await generate(token, "keyvalue", { role }));
	denied(await generate(token, "pki", { common_name: "a.example.com", role: "client" }));
	const { slug: other } = await realm(client, owner);
	refused(await client.post(`/realms/${other}/engines/keyvalue/generate`, {}, { token }), 404, "not_found");
	denied(await client.get("/engines", { token }));
	denied(await client.get(`/realms/${slug}/leases`, { token }));
	denied(await client.delete(`/realms/${slug}/leases/${String(made.headers["x-lease-id"])}`, { token }));
	const { username: admin } = ok(await generate(owner.token, "keyvalue", { role: "admin" })) as { username: string };
	denied(await validate(token, "keyvalue", { username: admin }));
	const root = await redis.login("default", redis.password);
	assert.notEqual(await root.send("ACL", "GETUSER", admin), null);
	ok(await validate(token, "keyvalue", { username }));
	assert.equal(await root.send("ACL", "GETUSER", username), null);
});

test("a token for roles of engines alone reads no secret and encrypts nothing", async () => {
	const token = await limited("read,write,delete", { realm: slug, engines: ["pki:client", "totp"] });
	denied(await client.get(`${secretPath(slug, "KEY")}?env=dev`, { token }));
	denied(await client.get(`/realms/${slug}/secrets`, { token }));
	denied(await client.get(`/eso/${slug}`, { token }));
	denied(await client.post("/encrypt", { value: "a value" }, { token }));
});

test("engines that make no leases are open to a token for them, role by role", async () => {
	const token = await limited("read", { realm: slug, engines: ["pki:client", "totp"] });
	const { certificate } = ok(await generate(token, "pki", { common_name: "a.example.com", role: "client" })) as {
		certificate: string;
	};
	ok(await validate(token, "pki", { certificate }));
	denied(await validate(token, "pki", { certificate, role: "server" }));
	denied(await generate(token, "pki", { common_name: "a.example.com", role: "server" }));
	denied(await generate(token, "pki", { common_name: "a.example.com" }));
	ok(await generate(token, "totp", { issuer: "Example", account: "ada@example.com" }));
	denied(await generate(token, "totp", { issuer: "Example", account: "ada@example.com", role: "any" }));
	const reading = await limited("read", { realm: slug, engines: ["pki:client"] });
	denied(await generate(reading, "totp", { issuer: "Example", account: "ada@example.com" }));
	denied(await validate(reading, "totp", { secret: "JBSWY3DPEHPK3PXP", code: "000000" }));
});

test("environment and engines add up", async () => {
	const token = await limited("read", { realm: slug, environment: "dev", engines: ["pki:client"] });
	ok(await client.get(`${secretPath(slug, "KEY")}?env=dev`, { token }));
	ok(await generate(token, "pki", { common_name: "a.example.com", role: "client" }));
	ok(await client.post("/encrypt", { value: "a value" }, { token }));
	denied(await client.get(`${secretPath(slug, "KEY")}?env=prod`, { token }));
	denied(await generate(token, "pki", { common_name: "a.example.com", role: "server" }));
	denied(await client.get(`/realms/${slug}/policy/bindings`, { token }));
});

test("engines are answered where a token has them, and only there; what names no role, or no realm, is refused", async () => {
	const create = (body: object, token = owner.token) => client.post("/auth/tokens", { name: "t", ...body }, { token });
	const engines = ["totp", "keyvalue:readonly", "totp"];
	const { engines: made, token } = ok(await create({ realm: slug, engines }), 201) as {
		engines: string[];
		token: string;
	};
	assert.deepEqual(made, ["keyvalue:readonly", "totp"]);
	const listed = ok(await client.get<{ tokens: object[] }>("/auth/tokens?limit=100", { token: owner.token })).tokens;
	assert.ok(listed.some((one) => "engines" in one && String(one.engines) === "keyvalue:readonly,totp"));
	assert.ok(!("engines" in (ok(await create({ realm: slug }), 201) as object)));
	for (const wrong of [
		{ engines: ["totp"] },
		{ realm: slug, engines: [] },
		{ realm: slug, engines: "totp" },
		{ realm: slug, engines: [1] },
		...[
			"",
			"keyvalue",
			"keyvalue:",
			"keyvalue:none",
			"none:readonly",
			"totp:",
			"totp:any",
			" totp",
			"Totp",
			"totp,pki:client",
		].map((name) => ({ realm: slug, engines: ["totp", name] })),
		{ realm: slug, engines: Array.from({ length: 33 }, () => "totp") },
	])
		refused(await create(wrong), 400, "validation_failed");
	denied(await create({ engines: ["pki:client"] }, token));
	denied(await create({ environment: "dev" }, token));
	const child = ok(await create({}, token), 201) as { engines: string[] };
	assert.deepEqual(child.engines, ["keyvalue:readonly", "totp"]);
});
