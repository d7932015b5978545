import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, COOKIE, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const VALUE = "a value that nobody asked for";
const MARKUP = `<img src=x onerror="alert(1)"><script>alert(1)</script>'&`;

let server: Server;
let client: Api;
let ada: Person;
let slug: string;
let page: string;

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	({ slug } = await realm(client, ada, "shop"));
	page = `/console/realms/${slug}/secrets/DB_URL?env=prod`;
	const secret = { key: "DB_URL", value: VALUE, environment: "prod", comment: MARKUP };
	ok(await client.post(`/realms/${slug}/secrets`, secret, { token: ada.token }), 201);
});
after(() => server.close());

/** Pages of the realm other than its secrets. */
const inRealm = () => ["audit", "leases", "members"].map((name) => `/console/realms/${slug}/${name}`);

const versionOf = async () =>
	(await client.get<{ version: number }>(`/realms/${slug}/secrets/DB_URL?env=prod`, { token: ada.token })).body.version;

test("a forged form changes nothing", async () => {
	const session = await enter(server, ada);
	const form_token = await tokenOf(server, session);
	const other = await tokenOf(server, await enter(server, ada));
	assert.notEqual(form_token, other);
	const before = await versionOf();
	const form = { action: "write", value: "forged", if_version: String(before), form_token };
	const { form_token: _, ...bare } = form;
	const { origin, ...site } = ours(server);
	const forged: [what: string, headers: Record<string, string>, form: Record<string, string>][] = [
		["no origin", site, form],
		["no Sec-Fetch-Site", { origin }, form],
		["another origin", { ...site, origin: "https://evil.test" }, form],
		["a subdomain's origin", { "sec-fetch-site": "same-site", origin: origin.replace("//", "//sub.") }, form],
		["the same site", { origin, "sec-fetch-site": "same-site" }, form],
		["another site", { origin, "sec-fetch-site": "cross-site" }, form],
		["no referrer", { ...site, origin: "null" }, form],
		["no token", ours(server), bare],
		["an empty token", ours(server), { ...form, form_token: "" }],
		["another session's token", ours(server), { ...form, form_token: other }],
		["a script", { ...ours(server), "sec-fetch-dest": "empty" }, form],
		["another host", { ...ours(server), host: "evil.test" }, form],
	];
	for (const [what, headers, fields] of forged) {
		const { status } = await ask(server, "POST", page, { ...session, ...headers }, fields);
		assert.ok([403, 421].includes(status), `${what}: ${status}`);
	}
	const without = await ask(server, "POST", page, ours(server), form);
	assert.deepEqual([without.status, /<h1>Sign in/.test(without.text)], [401, true]);
	assert.equal(await versionOf(), before);
	const real = await ask(server, "POST", page, { ...session, ...ours(server) }, form);
	assert.equal(real.status, 303, "the real one does");
	assert.equal(await versionOf(), before + 1);
});

test("signing in and out cannot be forged either", async () => {
	const credentials = { email: ada.email, password: ada.password };
	for (const headers of [{}, { origin: server.url }, { ...ours(server), origin: "https://evil.test" }]) {
		const { status, headers: got } = await ask(server, "POST", "/console/sign-in", headers, credentials);
		assert.deepEqual([status, got["set-cookie"]], [403, undefined]);
	}
	const session = await enter(server, ada);
	assert.equal((await ask(server, "POST", "/console/sign-out", { ...session, ...ours(server) }, {})).status, 403);
	assert.equal((await ask(server, "GET", "/console", session)).status, 200);
});

test("a session ends when its owner signs out, and its cookie with it", async () => {
	const session = await enter(server, ada);
	const form_token = await tokenOf(server, session);
	const out = await ask(server, "POST", "/console/sign-out", { ...session, ...ours(server) }, { form_token });
	assert.equal(out.status, 303);
	assert.match(
		String(out.headers["set-cookie"]),
		/^__Host-svc-session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
	);
	assert.equal((await ask(server, "GET", "/console", session)).status, 401);
});

test("a session's cookie is no bearer, and no bearer is a session", async () => {
	const { cookie } = await enter(server, ada);
	const inside = cookie.slice(`${COOKIE}=`.length);
	assert.equal((await client.get("/auth/whoami", { token: inside })).status, 401);
	assert.equal((await client.get("/auth/whoami", { headers: { cookie } })).status, 401);
	const { token } = await apiToken(client, ada, "read,write,delete");
	for (const bearer of [token, ada.token]) {
		assert.equal((await ask(server, "GET", "/console", { cookie: `${COOKIE}=${bearer}` })).status, 401);
		assert.equal((await ask(server, "GET", "/console", { authorization: `Bearer ${bearer}` })).status, 401);
	}
	for (const odd of [`${cookie}; ${cookie}`, `svc-session=${inside}`, `${cookie}x`])
		assert.equal((await ask(server, "GET", "/console", { cookie: odd })).status, 401, "two, unprefixed, altered");
});

test("signing in sets a host-only cookie and never adopts one from the request", async () => {
	const planted = `${COOKIE}=planted`;
	const credentials = { email: ada.email, password: ada.password, target: "https://evil.test/" };
	const headers = { ...ours(server), cookie: planted };
	const answer = await ask(server, "POST", "/console/sign-in", headers, credentials);
	assert.match(
		String(answer.headers["set-cookie"]),
		/^__Host-svc-session=[\w.-]{20,}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
	);
	assert.deepEqual([answer.status, answer.headers.location], [303, "/console"], "and leads nowhere else");
	const back = await ask(server, "POST", "/console/sign-in", ours(server), { ...credentials, target: page });
	assert.equal(back.headers.location, page);
	const wrong = await ask(server, "POST", "/console/sign-in", ours(server), {
		...credentials,
		password: "another one",
	});
	assert.deepEqual([wrong.status, wrong.headers["set-cookie"]], [401, undefined]);
	assert.doesNotMatch(wrong.text, /another one/);
});

test("a form without a session has at most 64 KiB", async () => {
	const post = async (bytes: number) => {
		const email = "a".repeat(bytes - "email=".length);
		return (await ask(server, "POST", "/console/sign-in", ours(server), { email })).status;
	};
	assert.deepEqual([await post(64 * 1024), await post(64 * 1024 + 1)], [400, 413]);
});

test("no page may be framed, cached, or run foreign scripts", async () => {
	const session = await enter(server, ada);
	for (const path of [
		"/console",
		"/console/nowhere",
		"/console/account",
		`/console/realms/${slug}`,
		page,
		...inRealm(),
	]) {
		const { headers, text } = await ask(server, "GET", path, session);
		const policy = String(headers["content-security-policy"]);
		assert.match(
			policy,
			/^default-src 'none'; style-src 'sha256-[^' ]+'; script-src 'sha256-[^' ]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types 'none'; require-trusted-types-for 'script'$/,
		);
		assert.equal(headers["cache-control"], "no-store");
		assert.equal(headers["referrer-policy"], "same-origin");
		assert.equal(headers["content-type"], "text/html; charset=utf-8");
		assert.doesNotMatch(text, /\sstyle=|\son\w+="|https?:\/\//);
	}
	for (const dest of ["iframe", "frame", "object", "empty", "image"])
		assert.equal((await ask(server, "GET", "/console", { ...session, "sec-fetch-dest": dest })).status, 403, dest);
});

test("a link from another site is retried once with the cookie", async () => {
	const first = await ask(server, "GET", page, { "sec-fetch-site": "cross-site" });
	assert.deepEqual([first.status, first.headers.refresh], [200, "0"]);
	const second = await ask(server, "GET", page, { "sec-fetch-site": "same-origin" });
	const asks = /name="password"/.test(second.text);
	assert.deepEqual([second.status, second.headers.refresh, asks], [401, undefined, true]);
});

test("a revealed value is shown once, to that session, on that page", async () => {
	const session = await enter(server, ada);
	const other = await enter(server, ada);
	ok(
		await client.post(
			`/realms/${slug}/secrets`,
			{ key: "API_KEY", value: VALUE, environment: "prod" },
			{ token: ada.token },
		),
		201,
	);
	const target = `/console/realms/${slug}/secrets/API_KEY?env=prod`;
	const events = async () =>
		ok(
			await client.get<{ events: { data: string }[] }>("/audit/events?type=secret.read", { token: ada.token }),
		).events.filter(({ data }) => /"key":"API_KEY".*"via":"console"/.test(data)).length;
	const shows = async (path: string, who: { cookie: string }) =>
		(await ask(server, "GET", path, who)).text.includes(VALUE);
	const reveal = { action: "reveal", form_token: await tokenOf(server, session) };
	const posted = await ask(server, "POST", target, { ...session, ...ours(server) }, reveal);
	assert.deepEqual([posted.status, posted.headers.location, posted.text], [303, target, ""]);
	assert.equal(await shows(target, other), false);
	assert.equal(await events(), 0);
	const shown = await ask(server, "GET", target, session);
	assert.ok(shown.text.includes(VALUE));
	assert.equal(shown.headers.refresh, "30");
	assert.doesNotMatch(JSON.stringify(shown.headers), new RegExp(VALUE));
	assert.doesNotMatch(/<title>.*<\/title>/.exec(shown.text)?.[0] ?? VALUE, new RegExp(VALUE));
	assert.equal(await events(), 1);
	assert.equal(await shows(target, session), false);
	await ask(server, "POST", target, { ...session, ...ours(server) }, reveal);
	assert.equal(await shows(page, session), false, "another page ends it");
	assert.equal(await shows(target, session), false);
	assert.equal(await events(), 1);
	assert.doesNotMatch(server.stdout() + server.stderr(), new RegExp(VALUE));
});

/** The box of a write that was refused. */
const KEPT = /<h2 id="kept">/;

test("a write that was refused is remembered for its session and secret alone, and no page shows it", async () => {
	const { token } = ada;
	const set = async (key: string) =>
		ok(await client.post(`/realms/${slug}/secrets`, { key, value: "one", environment: "prod" }, { token }), 201);
	for (const key of ["TYPED", "OTHER", "TYPED"]) await set(key);
	const target = (key: string) => `/console/realms/${slug}/secrets/${key}?env=prod`;
	const [mine, his] = [await enter(server, ada), await enter(server, ada)];
	const post = async (who: { cookie: string }, key: string, form: Record<string, string>) => {
		const form_token = await tokenOf(server, who);
		return ask(server, "POST", target(key), { ...who, ...ours(server) }, { ...form, form_token });
	};
	const refused = await post(mine, "TYPED", { action: "write", value: VALUE, comment: MARKUP, if_version: "1" });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /value="&lt;img src=x[^"]*" autocomplete/);
	for (const text of [refused.text, (await ask(server, "GET", target("TYPED"), mine)).text]) {
		assert.match(text, KEPT);
		assert.match(text, /name="action" value="rewrite"/);
		assert.doesNotMatch(text, new RegExp(`${VALUE}|<img|<script>`));
	}
	for (const [who, key] of [
		[his, "TYPED"],
		[mine, "OTHER"],
	] as const) {
		assert.doesNotMatch((await ask(server, "GET", target(key), who)).text, KEPT);
		assert.equal((await post(who, key, { action: "rewrite", if_version: "1" })).status, 409);
	}
	assert.equal((await post(mine, "TYPED", { action: "forget" })).status, 303);
	assert.equal((await post(mine, "TYPED", { action: "rewrite", if_version: "2" })).status, 409);
	const long = await post(mine, "TYPED", { action: "write", value: "x".repeat(100_000), comment: "", if_version: "1" });
	assert.match(long.text, KEPT);
	assert.doesNotMatch(long.text, /xxxxx|name="action" value="rewrite"/);
});

test("a stranger learns nothing of a realm, and a viewer is offered nothing to write", async () => {
	const eve = await enter(server, await person(client, "eve"));
	for (const path of [`/console/realms/${slug}`, page, ...inRealm()])
		assert.equal((await ask(server, "GET", path, eve)).status, 404);
	const viewer = await person(client, "viewer");
	const binding = { email: viewer.email, role: "viewer" };
	ok(await client.post(`/realms/${slug}/policy/bindings`, binding, { token: ada.token }), 201);
	const session = await enter(server, viewer);
	const { text } = await ask(server, "GET", page, session);
	assert.match(text, /name="action" value="reveal"/);
	assert.doesNotMatch(text, /name="action" value="(?!reveal)|name="value"/);
	const form = { action: "write", value: "x", form_token: await tokenOf(server, session) };
	const refused = await ask(server, "POST", page, { ...session, ...ours(server) }, form);
	assert.equal(refused.status, 403);
});

test("stored markup is shown as text", async () => {
	const mallory = await person(client, "mallory");
	const made = { slug: "markup", name: MARKUP, description: MARKUP };
	ok(await client.post("/realms", made, { token: mallory.token }), 201);
	const mine = await enter(server, mallory);
	const session = await enter(server, ada);
	const pages = [await ask(server, "GET", "/console", mine), await ask(server, "GET", page, session)];
	pages.push(await ask(server, "GET", `/console/realms/${slug}?q=${encodeURIComponent(MARKUP)}`, session));
	for (const { status, text } of pages) {
		assert.equal(status, 200);
		assert.match(text, /&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;/);
		assert.doesNotMatch(text, /<img|<script>/);
	}
});

test("a browser is led to the console, a program is not, and the script is the only other file", async () => {
	const browser = await ask(server, "GET", "/", { accept: "text/html,*/*" });
	assert.deepEqual([browser.status, browser.headers.location], [303, "/console"]);
	assert.equal((await ask(server, "GET", "/")).status, 404);
	const { text } = await ask(server, "GET", "/console");
	const path = /<script src="([^"]+)"/.exec(text)?.[1] ?? "";
	const script = await ask(server, "GET", path, { "sec-fetch-dest": "script" });
	assert.deepEqual([script.status, script.headers["content-type"]], [200, "text/javascript; charset=utf-8"]);
	assert.ok(script.text.length < 15_000);
	for (const method of ["PUT", "DELETE", "PATCH"]) {
		const { status, headers } = await ask(server, method, "/console");
		assert.deepEqual([status, headers.allow], [405, "GET, HEAD, POST"]);
	}
	for (const odd of ["/console/../api", "/console/%2e%2e/x", "/console/nowhere"])
		assert.notEqual((await ask(server, "GET", odd, await enter(server, ada))).status, 200, odd);
});
