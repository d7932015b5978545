import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { type Person, person, realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

const OIDC = { issuer: "https://id.example.com", client_id: "svc", client_secret: "canary-client-secret" };
const LDAP = { url: "ldaps://ldap.example.com:636", user_base_dn: "ou=people,dc=example,dc=com" };
const SAML = {
	idp_entity_id: "https://idp.example.com",
	idp_sso_url: "https://idp.example.com/sso",
	idp_certificate: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
};
const COMMON = { auto_provision: true, allowed_domains: [], trusted_email_domains: [], role_mappings: [] };

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

const put = (name: string, body: unknown): Promise<Answer> =>
	client.send("PUT", `/api/v1/auth/providers/${name}`, { token: root.token, raw: JSON.stringify(body) });
const show = (name: string): Promise<Answer> => client.get(`/auth/providers/${name}`, { token: root.token });
const messageOf = (answer: Answer): string => (answer.body as ErrorBody).error.message;

test("a provider is set with its defaults, shown with its secrets masked, and listed for everybody", async () => {
	const shown = {
		...{ name: "corp", type: "oidc", display_name: "Corp" },
		config: { ...OIDC, client_secret: "********", scopes: "openid profile email", ...COMMON },
	};
	assert.deepEqual(ok(await put("corp", { type: "oidc", display_name: "Corp", config: OIDC })), shown);
	assert.deepEqual(ok(await show("corp")), shown);
	const listed = ok(await client.get<{ providers: object[] }>("/auth/providers")).providers;
	assert.deepEqual(listed, [{ name: "corp", type: "oidc", display_name: "Corp" }]);
});

test("several providers of one type live side by side, and without a display name the name is shown", async () => {
	ok(await put("directory", { type: "ldap", config: { ...LDAP, bind_dn: "cn=svc", bind_password: "canary-bind" } }));
	ok(await put("directory-2", { type: "ldap", config: LDAP }));
	ok(await put("partner", { type: "saml", config: SAML }));
	const listed = ok(await client.get<{ providers: { name: string; display_name: string }[] }>("/auth/providers"));
	assert.deepEqual(
		listed.providers.map(({ name, display_name }) => [name, display_name]),
		[
			["corp", "Corp"],
			["directory", "directory"],
			["directory-2", "directory-2"],
			["partner", "partner"],
		],
	);
});

test("what was shown can be set again: a masked secret stays, also over a restart", async () => {
	const { type, display_name, config } = ok(await show("directory")) as Record<string, unknown>;
	ok(await put("directory", { type, display_name, config: { ...(config as object), email_attribute: "email" } }));
	await server.restart();
	const again = ok(await show("directory")) as { config: Record<string, unknown> };
	assert.deepEqual([again.config.bind_password, again.config.email_attribute], ["********", "email"]);
	refused(await put("fresh", { type: "oidc", config: { ...OIDC, client_secret: "********" } }), 400, "missing_field");
});

test("mappings are shown as they were set while their realm exists, and name no other one", async () => {
	const [kept, deleted] = [await realm(client, root), await realm(client, root)];
	const mappingTo = (slug: string) => ({ group: "ops", realm: slug, role: "viewer" });
	const role_mappings = [mappingTo(kept.slug), mappingTo(deleted.slug)];
	const shown = ok(await put("mapped", { type: "oidc", config: { ...OIDC, role_mappings } }));
	const mappingsOf = (answer: unknown) => (answer as { config: { role_mappings: unknown } }).config.role_mappings;
	assert.deepEqual(mappingsOf(shown), role_mappings);
	ok(await client.delete(`/realms/${deleted.slug}`, { token: root.token }));
	ok(await client.post("/realms", { slug: deleted.slug, name: "another" }, { token: root.token }), 201);
	assert.deepEqual(mappingsOf(ok(await show("mapped"))), [mappingTo(kept.slug)]);
	const unknown = { ...OIDC, role_mappings: [mappingTo("no-such-realm")] };
	refused(await put("mapped", { type: "oidc", config: unknown }), 400, "validation_failed");
	assert.deepEqual(mappingsOf(ok(await show("mapped"))), [mappingTo(kept.slug)]);
	ok(await client.delete("/auth/providers/mapped", { token: root.token }));
});

test("a masked secret goes nowhere else than where it was given for", async () => {
	const masked = { ...OIDC, client_secret: "********" };
	ok(await put("moving", { type: "oidc", config: OIDC }));
	ok(await put("moving", { type: "oidc", config: { ...masked, client_id: "other" } }));
	for (const elsewhere of [{ issuer: "https://evil.example" }, { ca_cert: SAML.idp_certificate }])
		refused(await put("moving", { type: "oidc", config: { ...masked, ...elsewhere } }), 400, "missing_field");
	const bound = { ...LDAP, bind_dn: "cn=svc", bind_password: "canary-bind" };
	ok(await put("moving", { type: "ldap", config: bound }));
	for (const elsewhere of [{ url: "ldaps://evil.example" }, { start_tls: true }, { ca_cert: SAML.idp_certificate }]) {
		const config = { ...bound, bind_password: "********", ...elsewhere };
		refused(await put("moving", { type: "ldap", config }), 400, "missing_field");
	}
	ok(await client.delete("/auth/providers/moving", { token: root.token }));
});

test("what a provider keeps secret is sealed", async () => {
	await server.stop();
	const files = await readdir(server.data);
	const texts = await Promise.all(files.map((file) => readFile(join(server.data, file), "latin1").catch(() => "")));
	await server.restart();
	assert.ok(texts.some((text) => text.includes("sso.provider.set")));
	assert.doesNotMatch(texts.join(), /canary/);
});

const REFUSED: readonly (readonly [body: object, code: string, field: RegExp])[] = [
	[{ config: OIDC }, "missing_field", /type/],
	[{ type: "kerberos", config: OIDC }, "validation_failed", /type .* oidc, saml, ldap/],
	[{ type: "oidc" }, "missing_field", /config/],
	[{ type: "oidc", config: { ...OIDC, client_id: undefined } }, "missing_field", /config\.client_id/],
	[{ type: "oidc", config: { ...OIDC, client_secret: "" } }, "missing_field", /client_secret|required field/],
	[{ type: "oidc", config: { ...OIDC, issuer: "http://id.example.com" } }, "validation_failed", /issuer .*https/],
	[{ type: "oidc", config: { ...OIDC, issuer: "https://id.example.com/?a" } }, "validation_failed", /issuer/],
	[{ type: "oidc", config: { ...OIDC, issuer: "https://a:b@id.example.com" } }, "validation_failed", /issuer/],
	[{ type: "oidc", config: { ...OIDC, scopes: "profile email" } }, "validation_failed", /openid/],
	[{ type: "oidc", config: { ...OIDC, url: "ldaps://a" } }, "validation_failed", /unknown field/],
	[{ type: "oidc", config: { ...OIDC, auto_provision: "yes" } }, "validation_failed", /auto_provision/],
	[{ type: "oidc", config: { ...OIDC, ca_cert: "no PEM" } }, "validation_failed", /PEM/],
	[
		{ type: "oidc", config: { ...OIDC, role_mappings: [{ group: "g", realm: "r", role: "god" }] } },
		"invalid_role",
		/role/,
	],
	[{ type: "ldap", config: { ...LDAP, url: "ldap://ldap.example.com" } }, "validation_failed", /start_tls/],
	[{ type: "ldap", config: { ...LDAP, url: "ldaps://a:b@ldap.example.com" } }, "validation_failed", /url .*ldaps/],
	[{ type: "ldap", config: { ...LDAP, url: "https://ldap.example.com" } }, "validation_failed", /url .*ldaps/],
	[{ type: "ldap", config: { ...LDAP, user_filter: "(uid=*)" } }, "validation_failed", /\{username\}/],
	[{ type: "saml", config: {} }, "validation_failed", /idp_metadata, or/],
	[{ type: "saml", config: { ...SAML, idp_metadata: "<a/>" } }, "validation_failed", /idp_metadata, or/],
	[{ type: "saml", config: { ...SAML, idp_sso_url: "http://idp.example.com" } }, "validation_failed", /idp_sso_url/],
];

for (const [body, code, said] of REFUSED) {
	test(`settings are refused, and nothing is stored: ${JSON.stringify(body).slice(0, 150)}`, async () => {
		const answer = await put("refused", body);
		refused(answer, 400, code);
		assert.match(messageOf(answer), said);
		refused(await show("refused"), 404, "not_found");
	});
}

test("a provider's name is part of addresses", async () => {
	for (const name of ["Corp", "-a", "a-", "a_b", "a%20b", "%C3%A9", "a".repeat(51)])
		refused(await put(name, { type: "oidc", config: OIDC }), 400, "validation_failed");
	ok(await put("a".repeat(50), { type: "oidc", config: OIDC }));
	ok(await put("7", { type: "oidc", config: OIDC }));
});

test("a provider that cannot be asked says so when it is tested, and when somebody wants to sign in", async () => {
	const away = { ...OIDC, issuer: "https://127.0.0.1:1" };
	ok(await put("away", { type: "oidc", config: away }));
	const tested = await client.post<{ status: string; message: string }>("/auth/providers/away/test", undefined, {
		token: root.token,
	});
	assert.equal(ok(tested).status, "unhealthy");
	assert.match(tested.body.message, /\w+ \w+/);
	refused(await client.get("/auth/oidc/away/login"), 503, "provider_unavailable");
});

test("a flow of one protocol is not found at a provider of another, nor at one that nobody has", async () => {
	for (const path of ["/auth/oidc/partner/login", "/auth/saml/corp/login", "/auth/oidc/nobody/login"])
		refused(await client.get(path), 404, "not_found");
	refused(await client.get("/auth/saml/directory/metadata"), 404, "not_found");
	refused(await client.post("/auth/ldap/corp/login", { username: "ada", password: "a password" }), 404, "not_found");
});

test("an answer that no browser of ours waits for is refused, with one event that says why", async () => {
	for (const path of ["/auth/oidc/corp/callback", "/auth/oidc/corp/callback?code=canary-code&state=canary-state"])
		refused(await client.get(path, { headers: { cookie: "__Host-svc_sso_a=b" } }), 401, "unauthorized");
	const path = "/api/v1/auth/saml/partner/acs";
	const form = { "content-type": "application/x-www-form-urlencoded" };
	refused(await client.send("POST", path, { headers: form, raw: "SAMLResponse=canary-response" }), 401, "unauthorized");
	refused(await client.send("POST", path, { headers: form, raw: "a=b" }), 400, "missing_field");
	refused(await client.send("POST", path, { headers: form, raw: "SAMLResponse=a&SAMLResponse=b" }), 400, "bad_request");
	refused(await client.send("POST", path, { raw: "{}" }), 400, "bad_request");
	const large = `SAMLResponse=${"A".repeat(256 * 1024)}`;
	refused(await client.send("POST", path, { headers: form, raw: large }), 413, "payload_too_large");
	const failed = await events(client, root, "type=auth.login.failed");
	assert.deepEqual(
		failed.slice(0, 3).map(({ actor, data: { method, provider, reason } }) => [actor, method, provider, reason]),
		[
			["unknown", "saml", "partner", "request"],
			["unknown", "oidc", "corp", "request"],
			["unknown", "oidc", "corp", "request"],
		],
	);
});

test("a program must say both where it waits and how it will prove itself", async () => {
	for (const query of ["cli_port=80", "cli_port=65536", "cli_port=abc", "cli_challenge=short"])
		refused(await client.get(`/auth/oidc/away/login?${query}`), 400, "validation_failed");
	for (const query of ["cli_port=40000", `cli_challenge=${"c".repeat(43)}`])
		refused(await client.get(`/auth/oidc/away/login?${query}`), 400, "validation_failed");
	refused(await client.post("/auth/sso/token", { code: "canary-code", verifier: "v".repeat(43) }), 401, "unauthorized");
	refused(await client.post("/auth/sso/token", { code: "a", verifier: "short" }), 400, "validation_failed");
});

test("removing a provider is recorded once, and nothing of it was written anywhere", async () => {
	const path = "/auth/providers/corp";
	ok(await client.delete(path, { token: root.token }));
	refused(await client.delete(path, { token: root.token }), 404, "not_found");
	const all = await events(client, root);
	const own = all.filter(({ type }) => type.startsWith("sso.provider"));
	assert.deepEqual(
		[own[0]?.type, own[0]?.data.provider, own.at(-1)?.type, own.at(-1)?.data.provider_type],
		["sso.provider.deleted", "corp", "sso.provider.set", "oidc"],
	);
	const written = server.stderr() + server.stdout() + JSON.stringify(all);
	assert.doesNotMatch(written, /canary/);
});
