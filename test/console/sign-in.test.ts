/* Signing in to the console through a provider: the errands in a real browser, and what a forged or replayed way back is worth. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, COOKIE, cookiesOf, ours, type PageAnswer } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import { asField, requestIdOf, writeDocument } from "../peers/saml-documents.ts";
import { PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type SamlWorld, startSamlWorld } from "../sso/saml-world.ts";

const PASSWORD = "canary of bob's password";
const RETURN = "/console/sign-in/sso";
const SITE = { "sec-fetch-site": "same-origin" };
const EVIL = [
	"https://evil.test/",
	"//evil.test",
	"/console/../api",
	"/console/%2E%2e/api",
	"/consoleevil",
	"javascript:alert(1)",
];

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SamlWorld;
let corp: OidcProvider;
let slapd: Slapd | undefined;
let browser: Browser;
let slug: string;

before(async () => {
	world = await startSamlWorld();
	ends.defer(world.close);
	const { server, client, root } = world;
	const redirect_uris = [`${server.url}/api/v1/auth/oidc/corp/callback`];
	const people = { alice: { email: "alice@corp.test", email_verified: true, name: "Alice" } };
	corp = await startOidcProvider({ redirect_uris, people });
	ends.defer(corp.stop);
	const { issuer, client_id, client_secret, ca_cert } = corp;
	await set("corp", "oidc", "Corp & Sons", { issuer, client_id, client_secret, ca_cert });
	await world.set("saml");
	if (skipWithoutSlapd === false) {
		slapd = await startSlapd({ entries: person("bob", PASSWORD) });
		ends.defer(slapd.stop);
		const { ldaps_url: url, ca, bind_dn, bind_password } = slapd;
		await set("tree", "ldap", "the directory", { url, ca_cert: ca, bind_dn, bind_password, user_base_dn: PEOPLE });
	}
	({ slug } = await realm(client, root, "shop"));
	if (skipWithoutChromium !== false) return;
	browser = await startBrowser();
	ends.defer(() => browser.close());
});

async function set(name: string, type: string, display_name: string, config: object): Promise<void> {
	const raw = JSON.stringify({ type, display_name, config });
	ok(await world.client.send("PUT", `/api/v1/auth/providers/${name}`, { token: world.root.token, raw }));
}

const get = (path: string, headers: Record<string, string> = SITE) => ask(world.server, "GET", path, headers);
const isSignIn = ({ status, text, headers }: PageAnswer) =>
	[status, /<h1>Sign in/.test(text), String(headers["set-cookie"] ?? "").includes(`${COOKIE}=`)] as const;

/** Begins a login at the OpenID Connect provider and comes back from it. @returns the way into the console, and the cookies for it */
async function comeBack(target = "/console"): Promise<{ way: string; cookie: string }> {
	const begun = await get(`/console/sign-in/oidc/corp?target=${encodeURIComponent(target)}`);
	assert.equal(begun.status, 303, begun.text);
	const callback = `${world.server.url}/api/v1/auth/oidc/corp/callback`;
	const back = await createBrowser(corp.ca_cert).follow(String(begun.headers.location), callback);
	const answer = await get(back.pathname + back.search, { cookie: cookiesOf(begun) });
	assert.equal(answer.status, 302, answer.text);
	return { way: String(answer.headers.location), cookie: cookiesOf(begun) };
}

for (const javaScriptEnabled of [true, false]) {
	const how = javaScriptEnabled ? "with" : "without";
	test(`somebody signs in at a provider of another site, ${how} JavaScript`, {
		skip: skipWithoutChromium,
	}, async () => {
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		await page.goto(`${world.server.url}/console/account`);
		await page.getByRole("link", { name: "Sign in with Corp & Sons" }).click();
		await heading(page, "Your account");
		await page.getByRole("link", { name: "alice@corp.test" }).waitFor();
		assert.equal(page.url(), `${world.server.url}/console/account`);
		assert.deepEqual(complaints, []);
		await page.getByRole("button", { name: "Sign out" }).click();
		await heading(page, "Sign in");
		await close();
	});
}

test("somebody signs in with a directory's password", { skip: skipWithoutChromium || skipWithoutSlapd }, async () => {
	const { page, complaints, close } = await takeSeat(browser);
	await page.goto(`${world.server.url}/console`);
	const form = page.getByRole("form", { name: "With the directory" });
	const enter = async (password: string) => {
		await form.getByLabel("User name").fill("bob");
		await form.getByLabel("Password").fill(password);
		await form.getByRole("button").click();
	};
	await enter("another one");
	await page.getByRole("alert").getByText("invalid username or password").waitFor();
	assert.doesNotMatch(await page.content(), /another one/);
	await enter(PASSWORD);
	await heading(page, "Realms");
	await page.getByRole("link", { name: "bob@example.com" }).waitFor();
	assert.deepEqual(complaints, []);
	await close();
});

test("a SAML answer ends in the console on the page that was asked for, and is good once", async () => {
	const target = `/console/realms/${slug}`;
	const begun = await get(`/console/sign-in/saml/saml?target=${target}`);
	const cookie = cookiesOf(begun);
	const location = String(begun.headers.location);
	const document = writeDocument(
		world.said("saml", { location, cookie, request_id: requestIdOf(location) }),
		world.key,
	);
	const posted = await world.post("saml", { SAMLResponse: asField(document) }, cookie);
	assert.equal(posted.status, 302, posted.text);
	const way = String(posted.headers.location);
	assert.match(way, /^\/console\/sign-in\/sso\?code=[\w-]{43}$/);
	const bounced = await get(way, { "sec-fetch-site": "cross-site" });
	assert.deepEqual([bounced.status, bounced.headers.refresh], [200, "0"], "the cookies come with the second request");
	const entered = await get(way, { ...SITE, cookie });
	assert.deepEqual([entered.status, entered.headers.location], [303, target]);
	assert.match(
		String(entered.headers["set-cookie"]),
		/^__Host-svc-session=[\w.-]{20,}; Path=\/; HttpOnly; SameSite=Strict; Secure,__Host-svc-login=; Max-Age=0;/,
	);
	assert.equal((await get("/console", { ...SITE, cookie: cookiesOf(entered).split(";")[0] ?? "" })).status, 200);
	assert.deepEqual(isSignIn(await get(way, { ...SITE, cookie })), [401, true, false]);
});

test("a way back is worth nothing without the cookie of the browser that began", async () => {
	const other = await comeBack();
	const victim = cookiesOf(await get("/console/sign-in/oidc/corp"));
	const { way, cookie } = await comeBack();
	const tries: [what: string, headers: Record<string, string>][] = [
		["no cookie", SITE],
		["the cookie of another login", { ...SITE, cookie: victim }],
		["two cookies", { ...SITE, cookie: `${cookie}; ${other.cookie}` }],
		["an empty cookie", { ...SITE, cookie: "__Host-svc-login=" }],
		["an unprefixed cookie", { ...SITE, cookie: cookie.replaceAll("__Host-svc-login", "svc-login") }],
	];
	for (const [what, headers] of tries) assert.deepEqual(isSignIn(await get(way, headers)), [401, true, false], what);
	assert.equal((await get(other.way, { ...SITE, cookie: other.cookie })).status, 303, "its own does");
	assert.deepEqual(isSignIn(await get(other.way, { ...SITE, cookie: other.cookie })), [401, true, false], "once");
});

test("a code of the console is no program's, and a program's is none of the console", async () => {
	const { way, cookie } = await comeBack();
	const code = new URL(way, world.server.url).searchParams.get("code");
	const program = await world.client.post("/auth/sso/token", { code, verifier: "v".repeat(43) });
	assert.equal(program.status, 401);
	assert.deepEqual(isSignIn(await get(way, { ...SITE, cookie })), [401, true, false], "and it is used up");
	const answer = await get("/api/v1/auth/oidc/corp/login?cli_port=40001&cli_challenge=https://evil.test", SITE);
	assert.equal(answer.status, 400, "no request says where a browser is sent");
});

test("another site begins no login, and leads nobody elsewhere", async () => {
	for (const site of ["cross-site", "same-site"]) {
		const refused = await get("/console/sign-in/oidc/corp", { "sec-fetch-site": site });
		assert.deepEqual(
			[refused.status, refused.headers.location, refused.headers["set-cookie"]],
			[401, undefined, undefined],
		);
	}
	for (const target of EVIL) {
		const { way, cookie } = await comeBack(target);
		const { status, headers } = await get(way, { ...SITE, cookie });
		assert.deepEqual([status, headers.location], [303, "/console"], target);
		const page = await get(`/console/sign-in?target=${encodeURIComponent(target)}`);
		assert.match(page.text, /name="target" value="\/console">/, target);
	}
	for (const to of EVIL) {
		const { way, cookie } = await comeBack();
		const forged = cookie.replace(/(__Host-svc-login=[\w-]+)\.[\w-]*/, `$1.${Buffer.from(to).toString("base64url")}`);
		assert.equal((await get(way, { ...SITE, cookie: forged })).headers.location, "/console", "an altered cookie");
	}
});

test("a new session begins with each login, whatever cookie the browser brought", async () => {
	const first = await comeBack();
	const entered = await get(first.way, { ...SITE, cookie: `${first.cookie}; ${COOKIE}=planted` });
	const second = await comeBack();
	const again = await get(second.way, { ...SITE, cookie: `${second.cookie}; ${cookiesOf(entered).split(";")[0]}` });
	const sessions = [entered, again].map((answer) => cookiesOf(answer).split(";")[0] ?? "");
	assert.equal(new Set([...sessions, `${COOKIE}=planted`]).size, 3);
});

test("a refusal says what to do, in words of our own", async () => {
	const begun = await get("/console/sign-in/oidc/corp?target=/console/account");
	const state = new URL(String(begun.headers.location)).searchParams.get("state") ?? "";
	const denied = await get(`/api/v1/auth/oidc/corp/callback?error=<script>&state=${state}`, {
		cookie: cookiesOf(begun),
	});
	assert.equal(denied.headers.location, `${RETURN}?error=unauthorized`);
	const shown = await get(`${RETURN}?error=unauthorized`, { ...SITE, cookie: cookiesOf(begun) });
	assert.deepEqual(isSignIn(shown), [401, true, false]);
	assert.match(shown.text, /role="alert">/);
	assert.match(shown.text, /name="target" value="\/console\/account"/, "the page that was asked for is not forgotten");
	await set("gone", "oidc", "Gone", { issuer: "https://127.0.0.1:1", client_id: "svc", client_secret: "s" });
	const away = await get("/console/sign-in/oidc/gone");
	assert.equal(away.headers.location, `${RETURN}?error=provider_unavailable`);
	const text = await get(String(away.headers.location), { ...SITE, cookie: cookiesOf(away) });
	assert.deepEqual([text.status, /role="alert">the identity provider is unavailable/.test(text.text)], [503, true]);
	assert.equal((await get("/console/sign-in/oidc/none")).status, 404);
	const form = { email: "", provider: "none", username: "bob", password: PASSWORD };
	const wrong = await ask(world.server, "POST", "/console/sign-in", ours(world.server), form);
	assert.deepEqual([wrong.status, wrong.headers["set-cookie"]], [404, undefined]);
	assert.equal((await ask(world.server, "POST", "/console/sign-in", {}, form)).status, 403, "login by a forged form");
});
