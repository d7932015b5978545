import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { bind, PASSWORD, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

type Session = { cookie: string };

let server: Server;
let client: Api;
let ada: Person;
let viewer: Session;
let slug: string;
let session: Session;

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	({ slug } = await realm(client, ada, "shop"));
	const bob = await person(client, "bob");
	await bind(client, ada, slug, bob, "viewer");
	[session, viewer] = [await enter(server, ada), await enter(server, bob)];
	for (const environment of ["dev", "prod"]) await secret(client, ada, slug, "DB_URL", "one", { environment });
	ok(await client.put(`/realms/${slug}/machines/deploy`, { role: "viewer" }, { token: ada.token }));
	await secret(client, ada, slug, "OLD", "one", { environment: "prod" });
	ok(await client.delete(`${secretPath(slug, "OLD")}?env=prod`, { token: ada.token }));
});
after(() => server.close());

/** Forms by their addresses below the realm: each is right but for what a test forges, and refused to a viewer. */
const FORMS: readonly (readonly [path: string, fields: Record<string, string>])[] = [
	["secrets/DB_URL/delete?env=prod", {}],
	["secrets/DB_URL/purge?env=prod", { again: "DB_URL" }],
	["deleted?env=prod", { id: "00000000-0000-4000-8000-000000000000", key: "OLD" }],
	["compare?from=dev&to=prod", { action: "promote", "key.0": "1.1.DB_URL" }],
	["compare?from=dev&to=prod", { "key.one": "1.1.DB_URL" }],
	["machines", { name: "other", role: "viewer", read: "yes" }],
	["machines/deploy", { action: "token", ttl: "1d" }],
	[
		"machines/deploy/trust?type=oidc",
		{ trust: "t", issuer: "https://idp.test", audience: "svc.example", claims: "sub=a" },
	],
	["machines/deploy/delete", {}],
	["invite", { email: "guest@example.test", role: "viewer" }],
];

/** Forms that change the account of the person who sends them. */
const OWN_FORMS: typeof FORMS = [
	["/console/account/token", { name: "mine", read: "yes" }],
	["/console/engines/totp", { action: "try", "f.allowed_realms": "*" }],
	["/console/engines/totp/remove", {}],
	["/console/providers/corp?type=ldap", { action: "try", "f.url": "ldaps://a.test", "f.user_base_dn": "dc=test" }],
	["/console/providers/corp/remove", {}],
	["/console/account/factors", { action: "add", current_password: PASSWORD }],
	["/console/account/identities", { id: "00000000-0000-4000-8000-000000000000", current_password: PASSWORD }],
];

/** Changes of the realm so far, newest first. */
async function changes(): Promise<string[]> {
	const path = `/audit/events?realm=${slug}&limit=100`;
	const { events } = ok(await client.get<{ events: { type: string }[] }>(path, { token: ada.token }));
	return events.map(({ type }) => type).filter((type) => !/denied|list|read|diff|session/.test(type));
}

test("no form of a realm can be forged, and none works for who may not", async () => {
	const form_token = await tokenOf(server, session);
	const tokens = { other: await tokenOf(server, await enter(server, ada)), his: await tokenOf(server, viewer) };
	const before = await changes();
	for (const [path, fields] of [...FORMS, ...OWN_FORMS]) {
		const target = path.startsWith("/") ? path : `/console/realms/${slug}/${path}`;
		const post = async (headers: Record<string, string>, form: Record<string, string>) =>
			(await ask(server, "POST", target, headers, form)).status;
		const right = { ...session, ...ours(server) };
		const form = { ...fields, form_token };
		assert.equal(await post({ ...right, "sec-fetch-site": "cross-site" }, form), 403, `${path}: another site`);
		assert.equal(await post({ ...right, origin: "https://evil.test" }, form), 403, `${path}: another origin`);
		assert.equal(await post(right, fields), 403, `${path}: no token`);
		const other = { ...fields, form_token: tokens.other };
		assert.equal(await post(right, other), 403, `${path}: the token of another session`);
		const his = { ...fields, form_token: tokens.his };
		if (!path.startsWith("/")) assert.equal(await post({ ...viewer, ...ours(server) }, his), 403, `${path}: a viewer`);
		assert.equal(await post(ours(server), form), 401, `${path}: nobody`);
	}
	assert.deepEqual(await changes(), before);
	assert.equal(ok(await client.get<{ tokens: unknown[] }>("/auth/tokens", { token: ada.token })).tokens.length, 0);
});

const MARKUP = `<img src=x onerror="alert(1)"><script>alert(1)</script>'&`;

test("what was stored or asked is text on every page of an errand, and no page may be framed or cached", async () => {
	const { token } = ada;
	ok(await client.put(`/realms/${slug}/machines/odd`, { role: "viewer", description: MARKUP }, { token }));
	ok(await client.post(`/realms/${slug}/machines/odd/tokens`, { name: MARKUP, ttl: "1h" }, { token }), 201);
	const mine = ok(await client.post<{ id: string }>("/auth/tokens", { name: MARKUP }, { token }), 201);
	const asked = encodeURIComponent(MARKUP);
	const shown = ["machines", "machines/odd", "/console/account"];
	const others = ["deleted", "compare?from=dev&to=prod", `compare?from=${asked}&to=prod`, `explain?user=${asked}`];
	const more = ["invite", "machines/odd/trust?type=oidc", `machines/odd/trust?type=${asked}`, "machines/odd/delete"];
	const refused = [`secrets/${asked}?env=prod`, `secrets/${asked}/delete?env=prod`];
	const own = [
		"/console/account/token",
		"/console/account/identities",
		"/console/account/factors",
		"/console/invitations",
		"/console/chain",
	];
	for (const path of [...shown, ...others, ...more, ...refused, ...own]) {
		const target = path.startsWith("/") ? path : `/console/realms/${slug}/${path}`;
		const { status, headers, text } = await ask(server, "GET", target, session);
		assert.ok(status < 500, path);
		assert.doesNotMatch(text, /<img|<script>|\son\w+="/, path);
		if (shown.includes(path)) assert.match(text, /&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;/, path);
		assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/, path);
		assert.equal(headers["cache-control"], "no-store", path);
		const { status: ofStranger } = await ask(server, "GET", target);
		assert.equal(ofStranger, 401, path);
	}
	ok(await client.delete(`/auth/tokens/${mine.id}`, { token }));
});

test("the form of a trust takes 20 claims in 16,384 characters, keys in 32,768, and no more", async () => {
	const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const set = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256" }] });
	const [claims, jwks] = [`sub=a\n`, `${set} `];
	const numbered = (count: number) => claims + Array.from({ length: count - 1 }, (_, at) => `c${at}=a`).join("\n");
	const form_token = await tokenOf(server, session);
	let made = 0;
	const post = async (fields: { claims?: string; jwks?: string }) => {
		const form = { trust: `t${++made}`, issuer: "https://idp.test", audience: "svc.example", claims, jwks, ...fields };
		const path = `/console/realms/${slug}/machines/deploy/trust?type=oidc`;
		return (await ask(server, "POST", path, { ...session, ...ours(server) }, { ...form, form_token })).status;
	};
	assert.deepEqual([await post({ claims: numbered(20) }), await post({ claims: numbered(21) })], [303, 400]);
	for (const [name, text, most] of [
		["claims", claims, 16_384],
		["jwks", jwks, 32_768],
	] as const) {
		const statuses = [await post({ [name]: text.padEnd(most) }), await post({ [name]: text.padEnd(most + 1) })];
		assert.deepEqual(statuses, [303, 400], name);
	}
});
