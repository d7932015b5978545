/* Trusts: a machine gets a token for a JWT of an issuer, here real ones over HTTPS on loopback. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, api } from "../harness/client.ts";
import { events, newest } from "../harness/events.ts";
import { ok, refused, sameRefusal } from "../harness/expect.ts";
import { machine, type Person, secret, secretPath, unique } from "../harness/fixtures.ts";
import type { Trust } from "../harness/resources.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { githubClaims, gitlabClaims, type Issuer, type Json, newKey, signJwt, startIssuer } from "../peers/issuer.ts";

const AUDIENCE = "https://svc.example.com";

let server: Server;
let world: World;
let issuer: Issuer;

before(async () => {
	const env = { SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1", SVC_TRUSTED_PROXIES: "127.0.0.1" };
	server = await startServer({ env });
	world = await createWorld(api(server));
	issuer = await startIssuer();
});
after(async () => {
	await server.close();
	await issuer.stop();
});

const now_s = () => Math.floor(Date.now() / 1000);
const key = newKey("ES256", "own");

/** Claims of a trust in the jobs of the issuer's GitHub, and of its GitLab. */
const GITHUB = { repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "push" };
const GITLAB = { project_id: "22", ref_path: "refs/heads/main", ref_protected: "true" };

const github = (more: object = {}) => ({
	...{ type: "github", issuer: issuer.issuer, ca_cert: issuer.ca_cert, audience: AUDIENCE, claims: GITHUB },
	...more,
});

/** A trust whose keys are given. */
const given = (more: object = {}) => ({
	...{ issuer: "https://id.example.com", audience: AUDIENCE, claims: { sub: "deploy" }, jwks: { keys: [key.jwk] } },
	...more,
});
const claims = (more: Json = {}) => ({
	...{ iss: "https://id.example.com", aud: AUDIENCE, sub: "deploy", jti: unique("jti") },
	...{ iat: now_s(), exp: now_s() + 300 },
	...more,
});

/** The id in a JWT. */
const idOf = (jwt: string): string => JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()).jti;

interface Given {
	readonly token: string;
	readonly expires_at: string;
}

/** A machine of a realm, and how its trusts are set and its JWTs exchanged. */
async function deployment(owner: Person = world.people.owner, slug = world.slug) {
	const { id, name } = await machine(world.api, owner, slug, { role: "member", scopes: "read,write" });
	const path = `/realms/${slug}/machines/${name}/trusts`;
	const set = (body: object, trust = "ci", token = owner.token) =>
		world.api.put<Trust>(`${path}/${trust}`, body, { token });
	const exchange = (jwt: string, ip = "127.0.0.1") =>
		world.api.post<Given>("/auth/jwt", { realm: slug, machine: name, jwt }, { headers: { "x-forwarded-for": ip } });
	return { id, name, slug, path, set, exchange };
}

const read = (token: string, slug = world.slug, key = "DB_URL"): Promise<Answer> =>
	world.api.get(secretPath(slug, key), { token });

test("a GitHub job exchanges its JWT once for a token of the machine, with an event in the realm", async () => {
	const { people, api: client, slug } = world;
	await secret(client, people.owner, slug, "DB_URL", "postgres://db");
	const { id, name, set, exchange } = await deployment();
	const trust = ok(await set(github()));
	assert.deepEqual([trust.type, trust.single_use, trust.max_ttl], ["github", true, "1h"]);
	assert.equal(trust.keys_host, new URL(issuer.issuer).host);
	const jwt = issuer.mint(githubClaims(issuer.issuer, AUDIENCE, now_s()));
	const { token, expires_at } = ok(await exchange(jwt));
	assert.match(token, /^svc_/);
	const life_s = (Date.parse(expires_at) - Date.now()) / 1000;
	assert.ok(life_s > 3590 && life_s <= 3600, `${life_s}`);
	assert.equal((ok(await read(token)) as { value: string }).value, "postgres://db");
	const made = await newest(client, people.owner, "machine.token.created");
	const { data } = made ?? assert.fail("no event");
	assert.equal(made?.actor, id);
	assert.deepEqual([data.machine, data.trust, data.trust_id], [`${slug}/${name}`, "ci", trust.id]);
	assert.deepEqual([data.jti, data.ip], [idOf(jwt), "127.0.0.1"]);
	const again = await exchange(jwt);
	refused(again, 401, "invalid_credentials");
	const denied = await newest(client, people.owner, "auth.login.failed");
	assert.deepEqual([denied?.actor, denied?.data.reason, denied?.data.method], [id, "replay", "jwt"]);
	refused(await client.post(`/realms/${slug}/policy/bindings`, { role: "viewer" }, { token }), 403, "forbidden");
});

test("a stranger who sends bad JWTs does not fill a realm's log, and hides no refusal that has another reason", async () => {
	const { id, set, exchange } = await deployment();
	ok(await set(given()));
	const forged = signJwt(newKey("ES256", "own"), claims());
	const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(forged)));
	refused(await exchange(signJwt(key, claims({ aud: "another" }))), 401, "invalid_credentials");
	assert.ok(answers.every(({ status }) => status === 401));
	const noted = await events(world.api, world.people.owner, `type=auth.login.failed&actor=${id}`);
	const counts = noted.map(({ data: { reason, refusals } }) => `${reason} ${refusals}`);
	assert.equal(counts.shift(), "audience 1");
	assert.deepEqual(new Set(counts), new Set([1, 2, 3, 4, 5, 8, 16].map((count) => `signature ${count}`)));
});

test("a GitLab job may exchange its JWT again; no token outlives the JWT", async () => {
	const { set, exchange } = await deployment();
	const trust = ok(await set(github({ type: "gitlab", claims: GITLAB })));
	assert.equal(trust.single_use, false);
	const exp = now_s() + 120;
	const jwt = issuer.mint({ ...gitlabClaims(issuer.issuer, AUDIENCE, now_s()), exp });
	for (let count = 0; count < 2; count++) {
		const { token, expires_at } = ok(await exchange(jwt));
		ok(await read(token));
		assert.equal(Date.parse(expires_at), exp * 1000);
	}
	const ended = issuer.mint({ ...gitlabClaims(issuer.issuer, AUDIENCE, now_s()), exp: now_s() - 5 });
	refused(await exchange(ended), 401, "invalid_credentials");
});

test("a JWT that may be used again and comes from a second source is an event of its own, with its id and the first address", async () => {
	const { people, api: client } = world;
	const { id, name, slug, set, exchange } = await deployment();
	ok(await set(github({ type: "gitlab", claims: GITLAB })));
	const jwt = issuer.mint(gitlabClaims(issuer.issuer, AUDIENCE, now_s()));
	for (const ip of ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2"]) ok(await exchange(jwt, ip));
	ok(await exchange(issuer.mint(gitlabClaims(issuer.issuer, AUDIENCE, now_s())), "192.0.2.2"));
	const seen = await events(client, people.owner, `type=machine.jwt.second_source&actor=${id}`);
	const facts = { machine: `${slug}/${name}`, trust: "ci", jti: idOf(jwt), first_ip: "192.0.2.1", ip: "192.0.2.2" };
	assert.partialDeepStrictEqual(
		seen.map(({ realm, data }) => ({ realm, data })),
		[{ realm: slug, data: facts }],
	);
	const made = await events(client, people.owner, `type=machine.token.created&actor=${id}`);
	assert.deepEqual(
		made.map(({ data }) => data.first_ip),
		[undefined, undefined, "192.0.2.1", undefined, undefined],
	);
});

test("the log replaces unprintable characters in a JWT's id", async () => {
	const { people, api: client } = world;
	const { set, exchange } = await deployment();
	ok(await set(given()));
	ok(await exchange(signJwt(key, claims({ jti: "a\u001b[2J\u202eb c\u0000" }))));
	const made = await newest(client, people.owner, "machine.token.created");
	assert.equal(made?.data.jti, "a\ufffd[2J\ufffdb\ufffdc\ufffd");
});

test("given keys are not fetched, and a trust domain accepts its own names only", async () => {
	const { set, exchange } = await deployment();
	ok(await set(given({ max_ttl: "10m" })));
	const { expires_at } = ok(await exchange(signJwt(key, claims())));
	assert.ok(Date.parse(expires_at) - Date.now() <= 600_000);
	const sub = "spiffe://prod.example.com/deploy";
	ok(await set(given({ issuer: null, trust_domain: "prod.example.com", claims: { sub } }), "mesh"));
	const { iss: _, jti: __, ...svid } = claims({ sub });
	const jwt = signJwt(key, svid);
	for (let count = 0; count < 2; count++) ok(await exchange(jwt));
});

test("the keys of a SPIFFE bundle, which are for jwt-svid and name no algorithm, are taken", async () => {
	const { set, exchange } = await deployment();
	const sub = "spiffe://prod.example.com/deploy";
	const own = [newKey("RS256", "rsa"), newKey("ES384", "ec")];
	const keys = own.map(({ jwk: { alg: _, ...jwk } }) => ({ ...jwk, use: "jwt-svid" }));
	ok(await set(given({ issuer: null, trust_domain: "prod.example.com", claims: { sub }, jwks: { keys } })));
	const { iss: _, iat: __, jti: ___, ...svid } = claims({ sub });
	for (const one of own) ok(await exchange(signJwt(one, svid)));
	refused(await exchange(signJwt(newKey("RS256", "rsa"), svid)), 401, "invalid_credentials");
});

test("a JWT must match all claims of one of the machine's trusts", async () => {
	const { set, exchange } = await deployment();
	ok(await set(given({ claims: { sub: "deploy", environment: "prod" } }), "prod"));
	ok(await set(given({ claims: { sub: "deploy", protected: true } }), "protected"));
	const accepts = async (more: Json) => (await exchange(signJwt(key, claims(more)))).status;
	assert.equal(await accepts({ environment: "prod" }), 200);
	assert.equal(await accepts({ protected: true }), 200);
	assert.equal(await accepts({ protected: "true" }), 401);
	assert.equal(await accepts({ environment: "prod", sub: "else" }), 401);
});

test("a trust is refused when the issuer's keys cannot be fetched", async () => {
	const { path, set } = await deployment();
	const others = await Promise.all([startIssuer(), startIssuer(), startIssuer()]);
	try {
		const [away, liar, elsewhere] = others as [Issuer, Issuer, Issuer];
		away.faults = { discovery: { does: "answer", status: 503 } };
		liar.metadata = (truth) => ({ ...truth, issuer: "https://id.example.com" });
		elsewhere.metadata = (truth) => ({ ...truth, jwks_uri: "https://169.254.169.254/keys" });
		const bodyOf = ({ issuer, ca_cert }: Issuer) => github({ issuer, ca_cert });
		const cases = [
			[bodyOf(away), /\b503\b/],
			[bodyOf(liar), /another/],
			[bodyOf(elsewhere), /trusts\.private_issuers/],
			[github({ issuer: "https://127.0.0.2" }), /trusts\.private_issuers/],
			[github({ ca_cert: null }), /\([A-Z_]+\)/],
		] as const;
		for (const [body, says] of cases) {
			const answer = await set(body);
			refused(answer, 409, "conflict");
			assert.match(answer.text, says);
		}
	} finally {
		await Promise.all(others.map(({ stop }) => stop()));
	}
	refused(await world.api.get(`${path}/ci`, { token: world.people.owner.token }), 404, "not_found");
});

test("a trust is shown whole, listed without its keys, replaced under a new id and removed; what it gave ends with it", async () => {
	const { api: client, people } = world;
	const { token } = people.owner;
	const { path, set, exchange } = await deployment();
	const made = ok(await set(given()));
	assert.partialDeepStrictEqual(ok(await client.get<Trust>(`${path}/ci`, { token })), made);
	assert.deepEqual(made.jwks, { keys: [key.jwk] });
	const { jwks: _, ca_cert: __, ...row } = made;
	const [listed, ...others] = ok(await client.get<{ trusts: Trust[] }>(path, { token })).trusts;
	assert.partialDeepStrictEqual(listed, row);
	assert.deepEqual([listed?.jwks, listed?.ca_cert, others], [undefined, undefined, []]);
	const first = ok(await exchange(signJwt(key, claims()))).token;
	const other = ok(await set(given({ claims: { sub: "other" } })));
	assert.notEqual(other.id, made.id);
	refused(await read(first), 401);
	refused(await exchange(signJwt(key, claims())), 401);
	const second = ok(await exchange(signJwt(key, claims({ sub: "other" })))).token;
	ok(await client.delete(`${path}/ci`, { token }));
	refused(await read(second), 401);
	refused(await client.delete(`${path}/ci`, { token }), 404, "not_found");
	const event = await newest(client, people.owner, "machine.trust.deleted");
	assert.deepEqual([event?.data.trust, event?.data.trust_id, event?.data.tokens], ["ci", other.id, 1]);
});

test("only a session of somebody who manages the realm sets trusts, for no more than they have", async () => {
	const { api: client, people, tokens, slug } = world;
	const { name, path, set } = await deployment();
	refused(await set(given(), "ci", tokens.owner.write), 400, "unsupported_operation");
	refused(await set(given(), "ci", people.member.token), 403, "forbidden");
	refused(await set(given(), "ci", people.stranger.token), 404, "not_found");
	ok(await set(given(), "ci", people.admin.token));
	const of = `/realms/${slug}/machines/${name}/tokens`;
	const own = ok(await client.post<{ token: string }>(of, { ttl: "1h" }, { token: people.owner.token }), 201).token;
	for (const answer of [await client.get(path, { token: own }), await set(given(), "ci", own)])
		refused(answer, 403, "forbidden");
	refused(await client.delete(`${path}/ci`, { token: tokens.owner.delete }), 400, "unsupported_operation");
});

test("every JWT is refused alike, whether there is a machine or not", async () => {
	const { set, exchange, slug, name } = await deployment();
	ok(await set(given()));
	const jwt = signJwt(key, claims({ sub: "else" }));
	const ask = (realm: string, machine: string) => world.api.post("/auth/jwt", { realm, machine, jwt });
	const known = await exchange(jwt);
	refused(known, 401, "invalid_credentials");
	for (const [realm, machine] of [
		[slug, "nobody"],
		["nowhere", name],
		["x".repeat(5000), name],
		[slug, "\u0000"],
	] as const)
		sameRefusal(await ask(realm, machine), known);
	sameRefusal(await exchange("x".repeat(900_000)), known);
});

test("a deleted machine's trusts have ended, and a restored realm has none", async () => {
	const { api: client, people } = world;
	const { token } = people.owner;
	const slug = await world.freshRealm();
	const { set, exchange } = await deployment(people.owner, slug);
	ok(await set(given()));
	const before = ok(await exchange(signJwt(key, claims()))).token;
	ok(await client.delete(`/realms/${slug}`, { token }));
	refused(await exchange(signJwt(key, claims())), 401);
	ok(await client.post(`/realms/${slug}/restore`, {}, { token }));
	refused(await exchange(signJwt(key, claims())), 401);
	refused(await client.get(`/realms/${slug}`, { token: before }), 401);
	ok(await set(given()));
	ok(await exchange(signJwt(key, claims())));
});

test("audit verify confirms every trust and every exchange", async () => {
	const { token } = world.people.instance;
	const report = ok(await world.api.get<{ status: string }>("/audit/verify", { token }));
	assert.deepEqual(report, { ...report, status: "intact", differences: [], strange: [] });
});
