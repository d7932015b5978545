/* Providers on the console: a real OpenID provider and a real directory behind real Chromium. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { ok, refused } from "../harness/expect.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type SsoWorld, startSsoWorld } from "../sso/world.ts";

const MARKUP = `<img src=x onerror="alert(1)"><script>alert(1)</script>'&`;

let world: SsoWorld;
let peer: OidcProvider;
let slapd: Slapd;
let browser: Browser;

const skip = { skip: skipWithoutChromium || skipWithoutSlapd };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	if (skip.skip !== false) return;
	world = await startSsoWorld();
	ends.defer(world.close);
	const redirect_uris = [`${world.server.url}/api/v1/auth/oidc/corp/callback`];
	peer = await startOidcProvider({ redirect_uris, people: { eve: { sub: "eve", email: "eve@example.com" } } });
	ends.defer(() => peer.stop());
	slapd = await startSlapd({ entries: person("alice", "the password of alice") });
	ends.defer(slapd.stop);
	browser = await startBrowser();
	ends.defer(() => browser.close());
});

const shows = (page: Page, text: string | RegExp) => page.getByRole("status").getByText(text).waitFor();
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const fill = (page: Page, label: RegExp, text: string) => page.getByLabel(label).fill(text);
const failed = (page: Page, text: string | RegExp) => page.getByRole("alert").getByText(text).waitFor();

/** Opens the form of a new provider. */
async function add(page: Page, name: string, type: string): Promise<void> {
	await page.goto(`${world.server.url}/console/providers`);
	await page.getByLabel("Name, which is part of its addresses").fill(name);
	await page.getByLabel("Type").selectOption(type);
	await press(page, "Go on");
	await heading(page, `Provider ${name}`);
}

interface Shown {
	display_name: string;
	config: Record<string, unknown>;
}
const stored = async (name: string) =>
	ok(await world.client.get<Shown>(`/auth/providers/${name}`, { token: world.root.token }));

for (const javaScriptEnabled of [true, false]) {
	const how = javaScriptEnabled ? "" : ", without JavaScript";
	test(`the admin adds an OpenID provider, which is tried before it is kept${how}`, skip, async () => {
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		await signIn(page, world.server, world.root);
		await add(page, "corp", "oidc");
		await page.getByText(`${world.server.url}/api/v1/auth/oidc/corp/callback`).waitFor();
		await fill(page, /^display_name/, "Corp & Sons");
		await fill(page, /^issuer/, "https://127.0.0.1:1");
		await fill(page, /^client_id/, peer.client_id);
		await fill(page, /^client_secret/, "a typed secret");
		await press(page, "Test and store");
		await failed(page, "the provider was not stored, because it does not work");
		assert.doesNotMatch(await page.content(), /a typed secret/);
		assert.equal(await page.getByLabel(/^client_secret/).getAttribute("type"), "password");
		await page.getByText("people who choose it see an error until it works").waitFor();
		await press(page, "Store it anyway");
		await failed(page, "The provider is stored although it failed its test");
		const stranger = await takeSeat(browser, { javaScriptEnabled });
		await stranger.page.goto(`${world.server.url}/console`);
		await stranger.page.getByRole("link", { name: "Sign in with Corp & Sons" }).click();
		await failed(stranger.page, "the identity provider is unavailable");
		await heading(stranger.page, "Sign in");
		await stranger.page.getByLabel("E-mail").waitFor();
		await stranger.close();
		await press(page, "Test what is stored");
		await shows(page, "The provider does not work");

		await page.getByRole("link", { name: "Remove the provider" }).click();
		await heading(page, "Remove the provider corp?");
		await press(page, "Remove the provider");
		await shows(page, "The provider is removed.");
		refused(await world.client.get("/auth/providers/corp", { token: world.root.token }), 404);
		assert.deepEqual(complaints, []);
		await close();
	});
}

test("a provider's lists and switches are stored as such, and a mask keeps its secret", skip, async () => {
	const session = await enter(world.server, world.root);
	const send = async (form: Record<string, string>): Promise<[status: number, text: string]> => {
		const form_token = await tokenOf(world.server, session);
		const target = "/console/providers/corp?type=oidc";
		const answer = await ask(
			world.server,
			"POST",
			target,
			{ ...session, ...ours(world.server) },
			{ ...form, form_token },
		);
		const isMoved = answer.status === 303;
		const shown = isMoved ? await ask(world.server, "GET", String(answer.headers.location), session) : answer;
		assert.doesNotMatch(shown.text, new RegExp(peer.client_secret));
		return [answer.status, /class="(?:notice|error)"[^>]*>([^<]*)/.exec(shown.text)?.[1] ?? ""];
	};
	const form = {
		...{ action: "try", "f.issuer": peer.issuer, "f.client_id": peer.client_id, "f.client_secret": peer.client_secret },
		...{ "f.ca_cert": peer.ca_cert.replaceAll("\n", "\r\n"), "f.allowed_domains": "example.com\r\nexample.org" },
		"f.auto_provision": "yes",
	};
	assert.match((await send({ ...form, "f.role_mappings": "ops" }))[1], /^role_mappings\b/);
	assert.match((await send({ ...form, "f.client_id": "" }))[1], /\bclient_id\b/);
	assert.equal((await send(form))[0], 303);
	const { "f.auto_provision": _, ...without } = form;
	assert.equal((await send({ ...without, "f.client_secret": "********", "f.display_name": "Corp" }))[0], 303);
	const { display_name, config } = await stored("corp");
	assert.equal(display_name, "Corp");
	assert.deepEqual([config.allowed_domains, config.auto_provision], [["example.com", "example.org"], false]);
	assert.deepEqual([config.issuer, config.ca_cert], [peer.issuer, peer.ca_cert]);
	assert.deepEqual(await send({ action: "test" }), [303, "The provider works."]);
	const { body } = await world.client.post<{ status: string }>("/auth/providers/corp/test", undefined, {
		token: world.root.token,
	});
	assert.equal(body.status, "healthy", "the mask kept the secret");
});

test("the admin adds a directory, with which people then sign in", skip, async () => {
	const { page, close } = await takeSeat(browser);
	await signIn(page, world.server, world.root);
	await add(page, "tree", "ldap");
	await page.getByText("Nothing needs to be registered at the directory.").waitFor();
	await fill(page, /^url/, slapd.ldap_url);
	await fill(page, /^user_base_dn/, PEOPLE);
	await fill(page, /^bind_dn/, slapd.bind_dn);
	await fill(page, /^bind_password/, slapd.bind_password);
	await press(page, "Test and store");
	await shows(page, "The provider is stored.");
	const alice = { username: "alice", password: "the password of alice" };
	ok(await world.client.post("/auth/ldap/tree/login", alice));
	await add(page, "idp", "saml");
	for (const name of ["metadata", "acs"])
		await page.getByText(`${world.server.url}/api/v1/auth/saml/idp/${name}`).first().waitFor();
	await press(page, "Test and store");
	await failed(page, "config needs idp_metadata, or idp_entity_id, idp_sso_url and idp_certificate");
	await close();
});

test("what a provider's settings say is text, and others than the admin are refused", skip, async () => {
	await world.set("odd", "ldap", {
		url: "ldap://127.0.0.1:1",
		user_base_dn: MARKUP,
		bind_dn: MARKUP,
		bind_password: "canary",
	});
	const session = await enter(world.server, world.root);
	const name = encodeURIComponent(MARKUP);
	for (const path of ["providers", "providers/odd", "providers/odd/remove", `providers/${name}?type=oidc`]) {
		const { status, text } = await ask(world.server, "GET", `/console/${path}`, session);
		assert.equal(status, 200, path);
		assert.doesNotMatch(text, /<img|<script>|\son\w+="|canary/, path);
	}
	const { text } = await ask(world.server, "GET", "/console/providers/odd", session);
	assert.match(text, /name="f.user_base_dn" type="text" value="&lt;img src=x onerror=/);
	assert.match(text, /name="f.bind_password" type="password" value="\*{8}"/);
	assert.equal((await ask(world.server, "GET", "/console/providers/nowhere", session)).status, 404);
	assert.equal((await ask(world.server, "GET", `/console/providers/nowhere?type=${name}`, session)).status, 404);
	const moved = {
		action: "try",
		"f.url": "ldap://127.0.0.1:2",
		"f.user_base_dn": "dc=test",
		"f.bind_password": "********",
	};
	const form_token = await tokenOf(world.server, session);
	const target = "/console/providers/odd";
	const answer = await ask(
		world.server,
		"POST",
		target,
		{ ...session, ...ours(world.server) },
		{ ...moved, form_token },
	);
	assert.deepEqual([answer.status, /config.bind_password is required: url or/.test(answer.text)], [400, true]);
	await world.client.send("DELETE", "/api/v1/auth/providers/odd", { token: world.root.token });
});
