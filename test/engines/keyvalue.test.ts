import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type EngineWorld, eventually, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, person, realm, unique } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

interface Credential {
	username: string;
	password: string;
	expires_at: string;
	address: string;
	database: number;
}

const options = { skip: skipWithoutRedis };
let world: EngineWorld;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis({ aclfile: true });
	ends.defer(redis.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	ok(await configure({}));
});

const configure = (more: object) =>
	world.configure("keyvalue", { address: redis.address, password: redis.password, ...more });

const invoke = <T = Credential>(what: "generate" | "validate", params: object, where?: string) =>
	world[what]<T>("keyvalue", params, where);

async function isThere(username: string): Promise<boolean> {
	return (await redis.users()).includes(username);
}

test(
	"a store that refuses to delete a user is quoted, and the server keeps running until it does not",
	options,
	async () => {
		const username = "limited";
		const rights = (change: string) =>
			redis.admin("ACL", "SETUSER", username, "on", ">password", "~*", "+@all", change);
		await rights("-acl|deluser");
		ok(await configure({ username, password: "password" }));
		const answer = await invoke("generate", { role: "readonly" });
		const made = ok(answer);
		const refusal = await invoke("validate", { username: made.username });
		refused(refusal, 400, "engine_error");
		assert.match(refusal.text, /NOPERM/);
		assert.equal((await world.leaseOf(answer)).state, "revoking");
		assert.equal(await isThere(made.username), true);
		await rights("+acl|deluser");
		ok(await configure({}));
		await eventually("it is gone", async () => (await world.leaseOf(answer)).state === "revoked");
		assert.equal(await isThere(made.username), false);
		await redis.admin("ACL", "DELUSER", username);
	},
);

test(
	"a credential logs in, may do what its role says, and is gone after validate with its connection",
	options,
	async () => {
		const answer = await invoke("generate", { role: "readonly", ttl: "10m" });
		const made = ok(answer);
		assert.deepEqual(
			new Set(Object.keys(made)),
			new Set(["address", "database", "expires_at", "password", "username"]),
		);
		assert.match(made.username, /^svc_[0-9a-f]{8}$/);
		assert.match(made.password, /^[0-9a-f]{24}$/);
		const session = await redis.login(made.username, made.password);
		assert.equal(await session.send("GET", "nothing"), null);
		await assert.rejects(session.send("SET", "a", "b"), /NOPERM/);
		assert.equal((await world.leaseOf(answer)).state, "active");
		const message = `credentials revoked: user ${made.username} deleted`;
		assert.deepEqual(ok(await invoke("validate", { username: made.username })), { valid: true, message });
		await session.ended;
		assert.equal(await isThere(made.username), false);
		assert.equal((await world.leaseOf(answer)).state, "revoked");
		assert.deepEqual(ok(await invoke("validate", { username: made.username })), { valid: true, message }, "and again");
	},
);

test("an authority that is set and empty is the system's: no verification is said to be off", options, async () => {
	assert.equal(ok(await configure({ ca_cert: "" })).status, "healthy");
});

test("a credential is gone soon after its end", options, async () => {
	const { username } = ok(await invoke("generate", { ttl: "1s" }));
	await eventually("the user is gone", async () => !(await isThere(username)));
});

test("a credential outlives neither a kill of the server nor the absence of its target", options, async () => {
	const { username, expires_at } = ok(await invoke("generate", { ttl: "2s" }));
	await world.server.kill("SIGKILL");
	await redis.kill();
	await sleep(Date.parse(expires_at) + 1 - Date.now());
	await world.server.restart();
	await redis.start();
	await eventually("the user is gone", async () => !(await isThere(username)));
});

test("a role needs a token with the scope of its capability", options, async () => {
	ok(await configure({ role_capabilities: { readonly: "secrets:delete", readwrite: "audit:read" } }));
	const generate = async (scopes: string, role: string) => {
		const { token } = await apiToken(world.client, world.admin, scopes);
		const path = `/realms/${world.slug}/engines/keyvalue/generate`;
		return world.client.post(path, { role }, { token });
	};
	refused(await generate("read,write", "readonly"), 403, "insufficient_scope");
	refused(await generate("write", "readwrite"), 403, "insufficient_scope");
	ok(await generate("delete", "readonly"));
	ok(await generate("read", "readwrite"));
	ok(await configure({}));
});

test("the realm's deletion revokes its credentials", options, async () => {
	const other = await realm(world.client, world.admin);
	const { username } = ok(await invoke("generate", {}, other.slug));
	ok(await world.client.delete(`/realms/${other.slug}`, { token: world.admin.token }));
	await eventually("the user is gone", async () => !(await isThere(username)));
});

test("another realm's credential is not found, and lives", options, async () => {
	const { username } = ok(await invoke("generate", {}));
	const other = await realm(world.client, world.admin);
	refused(await invoke("validate", { username }, other.slug), 404, "not_found");
	assert.equal(await isThere(username), true);
});

test("a name that nobody made is answered when it is absent, and left alone when it exists", options, async () => {
	const message = "credentials revoked: user svc_00000001 deleted";
	assert.deepEqual(ok(await invoke("validate", { username: "svc_00000001" })), { valid: true, message });
	await redis.admin("ACL", "SETUSER", "svc_00000002", "on", ">x");
	refused(await invoke("validate", { username: "svc_00000002" }), 404, "not_found");
	assert.equal(await isThere("svc_00000002"), true);
});

test("exactly max_connections of two hundred at once are made", options, async () => {
	const other = await realm(world.client, world.admin, unique("crowd"));
	const path = `/api/v1/realms/${other.slug}/engines/keyvalue/config`;
	const raw = JSON.stringify({ address: redis.address, password: redis.password, max_connections: 50 });
	ok(await world.client.send("PUT", path, { token: world.admin.token, raw }));
	const answers = await Promise.all(Array.from({ length: 200 }, () => invoke("generate", {}, other.slug)));
	const won = answers.filter(({ status }) => status === 200);
	assert.equal(won.length, 50);
	for (const lost of answers.filter(({ status }) => status !== 200)) refused(lost, 409, "lease_limit_reached");
	const { text } = await world.client.send("GET", "/metrics");
	assert.match(text, /^svc_limit_refused_total\{limit="max_connections"\} 150$/m);
	const { checks } = ok(
		await world.client.get<{ checks: { message: string }[] }>("/doctor", { token: world.admin.token }),
	);
	const inUse = `max_connections of keyvalue in realm ${other.slug}: 50 of 50 are in use`;
	assert.ok(checks.some(({ message }) => message === inUse));
	ok(await world.client.post("/leases/revoke", { realm: other.slug }, { token: world.admin.token }));
	const names = won.map(({ body }) => body.username);
	await eventually("all are gone", async () => (await redis.users()).every((name) => !names.includes(name)));
});

for (const ttl of ["0s", "-1h", "1ns", "9999999h", "1h 1h", "", 5, "1e3h", "NaN", "48h"]) {
	test(`ttl ${JSON.stringify(ttl)} is refused, and nothing is made`, options, async () => {
		const before = (await redis.users()).length;
		const answer = await invoke("generate", { ttl });
		refused(answer, 400, "invalid_ttl");
		assert.match(answer.text, ttl === "48h" ? /ttl 48h exceeds max 24h/ : /"invalid ttl|exceeds max/);
		assert.equal((await redis.users()).length, before);
	});
}

const MESSAGES: [what: "generate" | "validate", params: object, message: RegExp][] = [
	["generate", { role: "root" }, /^unknown role root.*readonly.*readwrite.*admin/],
	["generate", { role: 5 }, /^parsing params:/],
	["validate", {}, /^username is required$/],
	["validate", { username: "default" }, /^refusing to delete/],
	["validate", { username: "svc_" }, /^refusing to delete/],
	["validate", { username: "SVC_aaaaaaaa" }, /^refusing to delete/],
	["validate", { username: "svc_../aaaa\r\nFLUSHALL" }, /^refusing to delete/],
];
for (const [what, params, message] of MESSAGES) {
	test(`${what} ${JSON.stringify(params)} is refused in the engine's own words`, options, async () => {
		const answer = await invoke<{ error: { message: string } }>(what, params);
		refused(answer, 400, "engine_error");
		assert.match(answer.body.error.message, message);
	});
}

test("somebody who may only read gets a readonly credential and no other", options, async () => {
	const viewer = await person(world.client, "viewer");
	await bind(world.client, world.admin, world.slug, viewer, "viewer");
	const path = `/realms/${world.slug}/engines/keyvalue/generate`;
	ok(await world.client.post(path, { role: "readonly" }, { token: viewer.token }));
	refused(await world.client.post(path, { role: "readwrite" }, { token: viewer.token }), 403, "forbidden");
	refused(await world.client.post(path, { role: "admin" }, { token: viewer.token }), 403, "forbidden");
});

test("reserved and poisonous params are nobody's but the core's", options, async () => {
	const raw = '{"_lease":{"id":"x","name":"svc_99999999"},"__proto__":{"role":"admin"},"role":"readonly"}';
	const path = `/api/v1/realms/${world.slug}/engines/keyvalue/generate`;
	const answer = await world.client.send<Credential>("POST", path, { token: world.admin.token, raw });
	assert.notEqual(ok(answer).username, "svc_99999999");
	await assert.rejects((await redis.login(answer.body.username, answer.body.password)).send("SET", "a", "b"), /NOPERM/);
});

test("a configuration is shown without its secret, and a target that is away is reported", options, async () => {
	const shown = ok(await configure({ address: "127.0.0.1:1" }));
	assert.equal(shown.password, "********");
	assert.match(shown.status, /^ping failed: /);
	refused(await invoke("generate", {}), 503, "engine_unavailable");
	refused(
		await world.client.post("/engines/keyvalue/ping", undefined, { token: world.admin.token }),
		503,
		"engine_unavailable",
	);
	assert.equal(ok(await configure({})).status, "healthy");
});

test(
	"with ?if=healthy, what does not work is 409 and not stored, and the former configuration stays in use",
	options,
	async () => {
		const { token } = world.admin;
		const { slug } = await realm(world.client, world.admin);
		for (const place of ["", `/realms/${slug}`]) {
			const path = `${place}/engines/keyvalue/config`;
			const set = (address: string, password: string) => {
				const raw = JSON.stringify({ address, password, ...(place === "" && { allowed_realms: ["*"] }) });
				return world.client.send("PUT", `/api/v1${path}?if=healthy`, { token, raw });
			};
			ok(await set(redis.address, redis.password));
			const former = ok(await world.client.get(path, { token }));
			for (const broken of [await set("127.0.0.1:1", redis.password), await set(redis.address, "another password")]) {
				refused(broken, 409, "conflict");
			}
			assert.deepEqual(ok(await world.client.get(path, { token })), former);
			assert.ok(await isThere(ok(await invoke("generate", {}, slug)).username));
		}
	},
);
