/* Anybody may make a realm and is its admin: the instance admin's configurations for all realms serve only the realms they name. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createAuthority } from "../../packages/x509/src/index.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm, unique } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

interface Certificate {
	certificate: string;
	ca_certificate: string;
}

const options = { skip: skipWithoutRedis };
const outer = await authority("From the environment");
let world: EngineWorld;
let redis: Redis;
let stranger: Person;
/** The stranger's own realm, which they administer. */
let own: string;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	world = await startEngineWorld({
		env: {
			...{ SVC_PKI_CA_CERT: outer.certificate, SVC_PKI_CA_KEY: outer.private_key },
			...{ SVC_ORCH_API_SERVER: "https://127.0.0.1:1", SVC_ORCH_TOKEN: "token" },
		},
	});
	ends.defer(world.close);
	stranger = await person(world.client, "stranger");
	({ slug: own } = await realm(world.client, stranger));
});

async function authority(common_name: string) {
	return createAuthority({ common_name, organization: "", now: new Date(), randomBytes });
}

/** Configures the key-value store for all realms. */
const configure = (allowed_realms: unknown, more: object = {}) =>
	world.configure("keyvalue", { address: redis.address, password: redis.password, allowed_realms, ...more });

const asStranger = <T>(path: string, body: object) =>
	world.client.post<T>(`/realms/${own}/engines/${path}`, body, { token: stranger.token });

const shown = async () =>
	ok(await world.client.get<{ allowed_realms: string[] }>("/engines/keyvalue/config", { token: world.admin.token }))
		.allowed_realms;

test(
	"a stranger's own realm gets no user of a store that is configured for others, and takes none of its places",
	options,
	async () => {
		ok(await configure([world.slug], { max_connections: 1 }));
		for (const role of ["readonly", "admin"])
			refused(await asStranger("keyvalue/generate", { role }), 400, "engine_not_configured");
		refused(await asStranger("keyvalue/validate", { username: "svc_01234567" }), 400, "engine_not_configured");
		assert.deepEqual(await redis.users(), []);
		const recorded = (await events(world.client, stranger, "type=engine.error")).map(({ data }) => data);
		assert.deepEqual(
			recorded.map(({ engine, method, code }) => [engine, method, code]),
			["validate", "generate", "generate"].map((method) => ["keyvalue", method, "engine_not_configured"]),
		);
		const made = ok(await world.generate<{ username: string }>("keyvalue", { role: "readonly" }));
		ok(await world.validate("keyvalue", { username: made.username }));
	},
);

test(
	"an orchestrator that only the server's variables lead to serves nobody until realms are named",
	options,
	async () => {
		refused(await asStranger("containerorch/generate", { role: "admin" }), 400, "engine_not_configured");
		ok(await world.configure("containerorch", { allowed_realms: [own] }));
		refused(await asStranger("containerorch/generate", { role: "admin" }), 503, "engine_unavailable");
		ok(await world.client.delete("/engines/containerorch/config", { token: world.admin.token }));
		refused(await asStranger("containerorch/generate", { role: "admin" }), 400, "engine_not_configured");
	},
);

test("no realm's certificates are trusted by another, whose authority is given or made", options, async () => {
	const generate = async () =>
		ok(await asStranger<Certificate>("pki/generate", { common_name: "db.internal", role: "client" }));
	const theirs = await generate();
	const ours = ok(await world.generate<Certificate>("pki", { common_name: "app" }));
	assert.notEqual(theirs.ca_certificate, ours.ca_certificate, "each realm has its own");
	for (const { ca_certificate } of [theirs, ours]) assert.notEqual(ca_certificate, outer.certificate);
	const { valid } = ok(await world.validate("pki", { certificate: theirs.certificate }));
	assert.equal(valid, false);

	const given = await authority("Given");
	const fields = { ca_certificate: given.certificate, ca_private_key: given.private_key };
	ok(await world.configure("pki", { ...fields, allowed_realms: [world.slug] }));
	assert.equal(ok(await world.generate<Certificate>("pki", { common_name: "app" })).ca_certificate, given.certificate);
	assert.equal(
		(await generate()).ca_certificate,
		theirs.ca_certificate,
		"elsewhere it is as if nothing were configured",
	);

	ok(await world.configure("pki", { allowed_realms: [world.slug] }));
	assert.equal(ok(await world.generate<Certificate>("pki", { common_name: "app" })).ca_certificate, outer.certificate);
	assert.equal((await generate()).ca_certificate, theirs.ca_certificate);
	await world.server.restart({ SVC_PKI_CA_CERT: "", SVC_PKI_CA_KEY: "" });
	assert.equal((await generate()).ca_certificate, theirs.ca_certificate, "a restart keeps it");
	assert.equal(
		ok(await world.generate<Certificate>("pki", { common_name: "app" })).ca_certificate,
		ours.ca_certificate,
	);
});

test("a configuration that serves every realm says so", options, async () => {
	ok(await configure(["*"]));
	assert.deepEqual(await shown(), ["*"]);
	const { username } = ok(await asStranger<{ username: string }>("keyvalue/generate", { role: "admin" }));
	ok(await asStranger("keyvalue/validate", { username }));
});

test("realms are named for all realms, and there alone, and each is there", options, async () => {
	const { address, password } = redis;
	const { token } = world.admin;
	const put = (path: string, fields: object) =>
		world.client.send("PUT", `/api/v1/${path}engines/keyvalue/config`, {
			token,
			raw: JSON.stringify({ address, password, ...fields }),
		});
	refused(await put("", {}), 400, "missing_field");
	refused(await put("", { allowed_realms: null }), 400, "missing_field");
	for (const allowed_realms of ["*", world.slug, ["nothing"], ["*", world.slug], [""], [5], {}])
		refused(await put("", { allowed_realms }), 400, "validation_failed");
	for (const limit of [0, -1, 1.5, "5", 10 ** 9])
		refused(await put("", { allowed_realms: ["*"], max_connections_per_realm: limit }), 400, "validation_failed");
	for (const field of [{ allowed_realms: ["*"] }, { max_connections_per_realm: 5 }])
		refused(await put(`realms/${world.slug}/`, field), 400, "validation_failed");
});

test("a realm that has a slug after another inherits nothing, and one that is gone is not shown", options, async () => {
	const slug = unique("twice");
	const make = async (who: Person) =>
		ok(await world.client.post("/realms", { slug, name: slug }, { token: who.token }), 201);
	await make(world.admin);
	ok(await configure([slug, world.slug]));
	assert.deepEqual(new Set(await shown()), new Set([slug, world.slug]));
	ok(await world.generate("keyvalue", {}, slug));
	ok(await world.client.delete(`/realms/${slug}`, { token: world.admin.token }));
	assert.deepEqual(await shown(), [world.slug]);
	await make(stranger);
	assert.deepEqual(await shown(), [world.slug]);
	const answer = await world.client.post(`/realms/${slug}/engines/keyvalue/generate`, {}, { token: stranger.token });
	refused(answer, 400, "engine_not_configured");
});

test("what a realm made is revoked after it is named no longer", options, async () => {
	ok(await configure([own]));
	const answer = await asStranger<{ username: string }>("keyvalue/generate", { role: "readonly" });
	const { username } = ok(answer);
	ok(await configure([]));
	refused(await asStranger("keyvalue/generate", { role: "readonly" }), 400, "engine_not_configured");
	const lease = `/realms/${own}/leases/${String(answer.headers["x-lease-id"])}`;
	ok(await world.client.delete(lease, { token: stranger.token }));
	assert.ok(!(await redis.users()).includes(username));
});

test(
	"one realm gets as many credentials as max_connections_per_realm says, the others get theirs",
	options,
	async () => {
		ok(await configure([own, world.slug], { max_connections: 4, max_connections_per_realm: 3 }));
		const asked = await Promise.all(
			Array.from({ length: 6 }, () => asStranger<{ username: string }>("keyvalue/generate", {})),
		);
		const made = asked.filter(({ status }) => status === 200);
		assert.equal(made.length, 3);
		for (const answer of asked.filter(({ status }) => status !== 200)) {
			refused(answer, 409, "lease_limit_reached");
			assert.match(answer.text, /\b3 open .*\bmax_connections_per_realm\b/);
		}
		const ours = ok(await world.generate<{ username: string }>("keyvalue", {}));
		const last = await world.generate("keyvalue", {});
		refused(last, 409, "lease_limit_reached");
		assert.match(last.text, /\b4 open .*\bmax_connections\b/);
		ok(await world.validate("keyvalue", { username: ours.username }));
		for (const { body } of made) ok(await asStranger("keyvalue/validate", { username: body.username }));
		ok(await asStranger("keyvalue/generate", {}));
	},
);
