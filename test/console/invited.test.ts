/* Somebody who was invited and has no more than a browser: the first sign-in at a provider that makes no accounts. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, COOKIE, cookiesOf, ours, type PageAnswer } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import { type OidcProvider, startOidcProvider } from "../peers/oidc.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import { PEOPLE, person, type Slapd, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type SsoWorld, startSsoWorld } from "../sso/world.ts";

const PASSWORD = "canary of bob's password";
const RETURN = "/console/sign-in/sso";
const SITE = { "sec-fetch-site": "same-origin" };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SsoWorld;
let corp: OidcProvider;
let slug: string;

before(async () => {
	world = await startSsoWorld();
	ends.defer(world.close);
	const redirect_uris = [`${world.server.url}/api/v1/auth/oidc/corp/callback`];
	// The provider is trusted for no domain: who is there chooses an address, so only the code tells who was invited.
	const people = {
		alice: { email: "alice@corp.test", email_verified: true, name: "Alice" },
		carol: { email: "carol@corp.test", email_verified: true, name: "Carol" },
	};
	corp = await startOidcProvider({ redirect_uris, people });
	ends.defer(corp.stop);
	const { issuer, client_id, client_secret, ca_cert } = corp;
	await world.set("corp", "oidc", { issuer, client_id, client_secret, ca_cert }, { auto_provision: false });
	({ slug } = await realm(world.client, world.root, "shop"));
});

async function invite(email: string): Promise<string> {
	const bindings = [{ realm: slug, role: "member" }];
	return ok<{ code: string }>(await world.client.post("/invitations", { email, bindings }, world.root), 201).code;
}

const isIn = ({ headers }: PageAnswer) => String(headers["set-cookie"] ?? "").includes(`${COOKIE}=`);

/** Signs in at the provider. @returns the code that the browser brings back, and its cookies */
async function comeBack(): Promise<{ code: string; cookie: string }> {
	const begun = await ask(world.server, "GET", "/console/sign-in/oidc/corp", SITE);
	const cookie = cookiesOf(begun);
	const callback = `${world.server.url}/api/v1/auth/oidc/corp/callback`;
	const back = await createBrowser(corp.ca_cert).follow(String(begun.headers.location), callback);
	const answer = await ask(world.server, "GET", back.pathname + back.search, { cookie });
	const way = new URL(String(answer.headers.location), world.server.url);
	assert.equal(way.pathname, RETURN);
	return { code: way.searchParams.get("code") ?? "", cookie };
}

const type = (cookie: string, form: Record<string, string>, headers = ours(world.server)) =>
	ask(world.server, "POST", RETURN, { ...headers, cookie }, form);

test("the page asks for the code, and nobody gets in with another one", async () => {
	const invitation = await invite("alice@corp.test");
	const { code, cookie } = await comeBack();
	const shown = await ask(world.server, "GET", `${RETURN}?code=${code}`, { ...SITE, cookie });
	assert.deepEqual([shown.status, /<h1>Your invitation/.test(shown.text), isIn(shown)], [403, true, false]);
	const other = await comeBack();
	const tries: [what: string, status: number, answer: PageAnswer][] = [
		["no such invitation", 401, await type(cookie, { code, invitation: "a".repeat(32) })],
		["that of another address", 401, await type(cookie, { code, invitation: await invite("eve@corp.test") })],
		["a form of another site", 403, await type(cookie, { code, invitation }, { ...SITE, origin: "https://evil.test" })],
		["another browser", 401, await type(other.cookie, { code, invitation })],
		["used up by the other browser's try", 401, await type(cookie, { code, invitation })],
	];
	for (const [what, status, answer] of tries) assert.deepEqual([answer.status, isIn(answer)], [status, false], what);
	const again = await comeBack();
	const entered = await type(again.cookie, { code: again.code, invitation: ` ${invitation} ` });
	assert.deepEqual([entered.status, entered.headers.location, isIn(entered)], [303, "/console", true], entered.text);
	assert.equal(isIn(await type(again.cookie, { code: again.code, invitation })), false, "a login is good once");
});

test("Carol signs in, types her code after a mistake, and has her role", { skip: skipWithoutChromium }, async () => {
	corp.person = "carol";
	const invitation = await invite("carol@corp.test");
	const browser = await startBrowser();
	ends.defer(() => browser.close());
	const { page, complaints, close } = await takeSeat(browser);
	await page.goto(`${world.server.url}/console/realms/${slug}`);
	await page.getByRole("link", { name: "Sign in with corp" }).click();
	await heading(page, "Your invitation");
	const field = page.getByLabel("Code of the invitation");
	await field.fill("a mistake");
	await page.getByRole("button").click();
	await page.getByRole("alert").getByText("invalid email or invitation").waitFor();
	await field.fill(invitation);
	await page.getByRole("button").click();
	await page.getByRole("link", { name: "carol@corp.test" }).waitFor();
	assert.equal(page.url(), `${world.server.url}/console/realms/${slug}`);
	assert.deepEqual(complaints, []);
	await close();
});

test("Bob signs in with a directory's password and his code", { skip: skipWithoutSlapd }, async () => {
	const slapd: Slapd = await startSlapd({ entries: person("bob", PASSWORD) });
	ends.defer(slapd.stop);
	const { ldaps_url: url, ca, bind_dn, bind_password } = slapd;
	const config = { url, ca_cert: ca, bind_dn, bind_password, user_base_dn: PEOPLE };
	await world.set("tree", "ldap", config, { auto_provision: false });
	const form = { provider: "tree", username: "bob", password: PASSWORD };
	const signIn = (more: object) =>
		ask(world.server, "POST", "/console/sign-in", ours(world.server), { ...form, ...more });
	const invitation = await invite("bob@example.com");
	assert.deepEqual([(await signIn({})).status, (await signIn({ invitation: "wrong" })).status], [403, 401]);
	assert.deepEqual([isIn(await signIn({ invitation })), isIn(await signIn({ invitation: "" }))], [true, true]);
});
