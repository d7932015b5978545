import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { events } from "../harness/events.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import type { Realm } from "../harness/resources.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { type OidcWorld, startOidcWorld } from "./oidc-world.ts";

const PEOPLE = {
	alice: { email: "alice@corp.test", email_verified: true, name: "Alice", groups: ["staff", "ops"] },
	bob: { email: "bob@corp.test", email_verified: true, name: "Bob", groups: ["staff"] },
};

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: OidcWorld;
let corp: OidcProvider;
let partner: OidcProvider;

before(async () => {
	const started = await startOidcWorld();
	ends.defer(started.close);
	world = started;
	const redirect_uris = ["corp", "partner"].map(world.redirectUri);
	corp = await startOidcProvider({ redirect_uris, people: PEOPLE });
	ends.defer(corp.stop);
	partner = await startOidcProvider({ redirect_uris, people: PEOPLE });
	ends.defer(partner.stop);
	await world.set("corp", corp, { groups_claim: "groups" });
	await world.set("partner", partner);
});

test("signing in ends with a session of the person, and the same person twice is one account", async () => {
	const first = ok(await world.signIn("corp"));
	fields(first, ["token", "expires_at", "user"]);
	fields(first.user, ["id", "email", "name"]);
	assert.deepEqual([first.user.email, first.user.name], ["alice@corp.test", "Alice"]);
	assert.ok(Math.abs(first.expires_at - Date.now() / 1000 - 24 * 3600) < 120);
	ok(await world.client.get("/realms", { token: first.token }));
	const second = ok(await world.signIn("corp"));
	assert.equal(second.user.id, first.user.id);
	assert.notEqual(second.token, first.token);
	corp.person = "bob";
	assert.notEqual(ok(await world.signIn("corp")).user.id, first.user.id);
	corp.person = "alice";
	const logins = (await events(world.client, world.root, "type=auth.login")).filter(
		({ data }) => data.provider === "corp",
	);
	assert.deepEqual(
		logins.map(({ data }) => data.method),
		["oidc", "oidc", "oidc"],
	);
});

test("the browser is sent to the provider with what binds the login to it", async () => {
	const answer = await world.client.get("/auth/oidc/corp/login");
	const { origin, searchParams } = new URL(String(answer.headers.location));
	assert.equal(origin, corp.issuer);
	assert.equal(searchParams.get("redirect_uri"), world.redirectUri("corp"));
	assert.equal(searchParams.get("response_type"), "code");
	assert.equal(searchParams.get("code_challenge_method"), "S256");
	for (const name of ["state", "nonce", "code_challenge"]) {
		assert.ok((searchParams.get(name) ?? "").length >= 43, name);
	}
	const [cookie = ""] = answer.headers["set-cookie"] ?? [];
	assert.match(cookie, /^__Host-[^;]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=None$/);
	assert.ok(!cookie.includes(searchParams.get("nonce") ?? ""));
});

test("a callback without this browser's cookie, with another's state, or for another provider is refused", async () => {
	const begun = await world.begin("corp");
	const query = await world.visit("corp", begun);
	const other = await world.begin("corp");
	const elsewhere = await world.begin("partner");
	const { state: _, ...stateless } = Object.fromEntries(query);
	await world.refusals();
	refused(await world.finish("corp", query), 401, "unauthorized");
	refused(await world.finish("corp", query, other.cookie), 401, "unauthorized");
	refused(await world.finish("corp", query, elsewhere.cookie), 401, "unauthorized");
	refused(await world.finish("corp", stateless, begun.cookie), 401, "unauthorized");
	refused(await world.finish("partner", query, begun.cookie), 401, "unauthorized");
	refused(await world.finish("corp", {}), 401, "unauthorized");
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, Array(6).fill("request"));
	ok(await world.finish("corp", query, begun.cookie));
});

test("a login ends once, however often its callback comes", async () => {
	const begun = await world.begin("corp");
	const query = await world.visit("corp", begun);
	await world.refusals();
	const answers = await Promise.all(Array.from({ length: 10 }, () => world.finish("corp", query, begun.cookie)));
	assert.equal(answers.filter(({ status }) => status === 200).length, 1);
	for (const answer of answers.filter(({ status }) => status !== 200)) refused(answer, 401, "unauthorized");
	refused(await world.finish("corp", query, begun.cookie), 401, "unauthorized");
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, Array(10).fill("replay"));
});

test("a code of another login, or of another provider with the same client_id, opens nothing", async () => {
	const begun = await world.begin("corp");
	const foreign = await world.begin("corp");
	const stolen = (await world.visit("corp", foreign)).get("code") ?? "";
	const { state = "", iss = "" } = Object.fromEntries(await world.visit("corp", begun));
	await world.refusals();
	refused(await world.finish("corp", { state, iss, code: stolen }, begun.cookie), 401, "unauthorized");
	const again = await world.begin("corp");
	const own = Object.fromEntries(await world.visit("corp", again));
	const strange = Object.fromEntries(await world.visit("partner", await world.begin("partner")));
	refused(await world.finish("corp", { ...own, code: strange.code ?? "" }, again.cookie), 401, "unauthorized");
	const mixed = await world.begin("corp");
	const { state: opened = "" } = Object.fromEntries(await world.visit("corp", mixed));
	refused(await world.finish("corp", { ...strange, state: opened }, mixed.cookie), 401, "unauthorized");
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["code", "code", "issuer"]);
});

test("an error of the provider is refused without a word of what it said", async () => {
	corp.error = "access_denied";
	const begun = await world.begin("corp");
	const query = await world.visit("corp", begun);
	corp.error = undefined;
	assert.match(String(query.get("error_description")), /script/);
	await world.refusals();
	const answer = await world.finish("corp", query, begun.cookie);
	refused(answer, 401, "unauthorized");
	assert.match(String(answer.headers["content-type"]), /^application\/json/);
	assert.doesNotMatch(answer.text, /script|alert|access_denied/);
	const [event] = await world.refusals();
	assert.equal(event?.data.reason, "provider_error");
	assert.doesNotMatch(JSON.stringify(event), /script|access_denied/);
	assert.doesNotMatch(world.server.stdout() + world.server.stderr(), /alert\(1\)/);
});

test("groups give roles at every login, and take them", async () => {
	const { slug } = await realm(world.client, world.root);
	const role_mappings = [
		{ group: "staff", realm: slug, role: "viewer" },
		{ group: "ops", realm: slug, role: "member" },
	];
	const roleOf = async (): Promise<number> => {
		const { token } = ok(await world.signIn("corp"));
		const body = { key: "MAPPED", value: "a value" };
		return (await world.client.post(`/realms/${slug}/secrets`, body, { token })).status;
	};
	await world.set("corp", corp, { groups_claim: "groups", role_mappings });
	assert.equal(await roleOf(), 201, "ops may write");
	corp.person = "bob";
	assert.equal(await roleOf(), 403, "staff may only read");
	await world.set("corp", corp, { groups_claim: "nothing", role_mappings });
	assert.equal(await roleOf(), 404, "somebody in no group does not see it");
	corp.person = "alice";
	await world.set("corp", corp, { groups_claim: "groups" });
	const { token } = ok(await world.signIn("corp"));
	ok(await world.client.get<{ realms: Realm[] }>("/realms", { token }));
});

test("a slug that is used again inherits no role", async () => {
	const { client, root } = world;
	const { slug } = await realm(client, root);
	const role_mappings = [{ group: "staff", realm: slug, role: "admin" }];
	await world.set("corp", corp, { groups_claim: "groups", role_mappings });
	const token = async () => ok(await world.signIn("corp")).token;
	ok(await client.get(`/realms/${slug}`, { token: await token() }));
	ok(await client.delete(`/realms/${slug}`, { token: root.token }));
	ok(await client.post("/realms", { slug, name: "another" }, { token: root.token }), 201);
	refused(await client.get(`/realms/${slug}`, { token: await token() }), 404, "not_found");
	await world.set("corp", corp, { groups_claim: "groups" });
});

test("a disabled account does not sign in", async () => {
	corp.person = "bob";
	const { user } = ok(await world.signIn("corp"));
	ok(await world.client.post(`/users/${user.id}/disable`, undefined, { token: world.root.token }));
	await world.refusals();
	refused(await world.signIn("corp"), 401, "unauthorized");
	corp.person = "alice";
	assert.equal((await world.refusals())[0]?.data.reason, "disabled");
});

test("the instance admin can try a provider out", async () => {
	const tried = async (name: string) =>
		ok(
			await world.client.post<{ status: string; message: string }>(`/auth/providers/${name}/test`, undefined, {
				token: world.root.token,
			}),
		);
	assert.equal((await tried("corp")).status, "healthy");
	await world.set("stranger", { ...corp, ca_cert: partner.ca_cert });
	const { status, message } = await tried("stranger");
	assert.equal(status, "unhealthy");
	assert.match(message, /\bdiscovery\b/);
});

test("with ?if=healthy, what does not work is 409 and not stored, and people sign in as before", async () => {
	const { client, root } = world;
	const [{ token }, path] = [root, "/auth/providers/corp"];
	const set = (more: object) => {
		const { issuer, client_id, client_secret, ca_cert } = corp;
		const config = { issuer, client_id, client_secret, ca_cert, groups_claim: "groups", ...more };
		return client.send("PUT", `/api/v1${path}?if=healthy`, { token, raw: JSON.stringify({ type: "oidc", config }) });
	};
	ok(await set({}));
	const former = ok(await client.get(path, { token }));
	for (const more of [{ issuer: "https://127.0.0.1:1" }, { ca_cert: partner.ca_cert }]) {
		const broken = await set(more);
		refused(broken, 409, "conflict");
	}
	assert.deepEqual(ok(await client.get(path, { token })), former);
	ok(await world.signIn("corp"));
});
