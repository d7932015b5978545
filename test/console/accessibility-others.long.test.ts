/* WCAG 2.2 AA on pages that an admin with a filled realm does not see: empty ones, those of a viewer, long names, and those outside a session. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type Api, api } from "../harness/client.ts";
import { ask } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, login, machineToken, PASSWORD, type Person, person, realm } from "../harness/fixtures.ts";
import { inspect } from "../harness/inspection.ts";
import { type Server, startServer } from "../harness.ts";

const skip = { skip: skipWithoutChromium };

const ends = new AsyncDisposableStack();
let server: Server;
let client: Api;
let admin: Person;
let browser: Browser;

before(async () => {
	if (skipWithoutChromium !== false) return;
	server = await startServer();
	ends.defer(() => server.close());
	client = api(server);
	admin = await person(client, "admin");
	browser = await startBrowser();
	ends.defer(() => browser.close());
});
after(() => ends.disposeAsync());

/** Visits pages as somebody, and looks at each. @param paths each with its heading */
async function visit(who: Person, paths: Readonly<Record<string, string>>): Promise<void> {
	const { page, complaints, close } = await takeSeat(browser);
	await signIn(page, server, who);
	const found: string[] = [];
	for (const [path, title] of Object.entries(paths)) {
		await page.goto(`${server.url}/console${path}`);
		await heading(page, title);
		found.push(...(await inspect(page)).map((finding) => `${path}: ${finding}`));
	}
	assert.deepEqual(found, []);
	assert.deepEqual(complaints, []);
	await close();
}

/** Pages of a realm, with their headings. */
const pagesOf = (slug: string): Record<string, string> => ({
	[`/realms/${slug}`]: slug,
	[`/realms/${slug}/members`]: `Members of ${slug}`,
	[`/realms/${slug}/leases`]: `Leases of ${slug}`,
	[`/realms/${slug}/audit`]: `Audit of ${slug}`,
	[`/realms/${slug}/settings`]: `Settings of ${slug}`,
	[`/realms/${slug}/deleted`]: `Deleted secrets of ${slug}`,
	[`/realms/${slug}/compare?from=dev&to=prod`]: `Compare environments of ${slug}`,
	[`/realms/${slug}/explain?user=&env=prod`]: `What you may do in ${slug}`,
});

test("somebody without anything, and an empty realm, have pages without a finding", skip, async () => {
	const newcomer = await person(client, "newcomer");
	const own = {
		"": "Realms",
		"/account": "Your account",
		"/account/sessions": "Your sessions",
		"/account/identities": "How you sign in",
		"/account/token": "New API token",
		"/invitations": "Open invitations",
		"/deleted-realms": "Deleted realms",
		"/audit?type=nothing.*": "Audit",
		"/health": "Health",
		"/people": "You may not do this",
		"/engines/keyvalue": "You may not do this",
	};
	await visit(newcomer, own);
	const { slug } = await realm(client, newcomer, "empty");
	await visit(newcomer, { ...pagesOf(slug), [`/realms/${slug}/machines`]: `Machines of ${slug}` });
});

test("a viewer, who is offered little, has pages without a finding", skip, async () => {
	const { slug } = await realm(client, admin, "shop");
	const viewer = await person(client, "viewer");
	await bind(client, admin, slug, viewer, "viewer");
	const secret = { key: "DB_URL", value: "one", environment: "prod" };
	ok(await client.post(`/realms/${slug}/secrets`, secret, { token: admin.token }), 201);
	await visit(viewer, {
		...pagesOf(slug),
		[`/realms/${slug}/secrets/DB_URL?env=prod`]: "DB_URL in prod",
		[`/realms/${slug}/secrets/DB_URL?env=dev`]: "DB_URL in dev",
		[`/realms/${slug}/secrets/DB_URL/delete?env=prod`]: "You may not do this",
		[`/realms/${slug}/machines`]: "You may not do this",
	});
});

/** The longest texts that the server takes, without a place to break. */
const LONG = { slug: "s".repeat(50), key: `LONG_${"K".repeat(250)}`, text: "w".repeat(255), machine: "m".repeat(50) };

/** Fills a realm with the longest names. */
async function fillWithLongNames(owner: Person, colleague: Person): Promise<void> {
	const { token } = owner;
	const { slug, key, text, machine } = LONG;
	ok(await client.post("/realms", { slug, name: text, description: text.repeat(4) }, { token }), 201);
	for (const environment of ["dev", "prod"]) {
		const secret = { key, value: "v".repeat(2000), environment, comment: text };
		ok(await client.post(`/realms/${slug}/secrets`, secret, { token }), 201);
	}
	await bind(client, owner, slug, colleague, "admin");
	ok(await client.put(`/realms/${slug}/machines/${machine}`, { role: "viewer", description: text }, { token }));
	await machineToken(client, owner, slug, machine);
	ok(await client.post("/auth/tokens", { name: text }, { token: colleague.token }), 201);
	ok(await client.delete(`/realms/${slug}/secrets/${key}?env=dev`, { token }));
}

test("the longest names break, and cover nothing", skip, async () => {
	const email = `${"e".repeat(200)}@${"d".repeat(40)}.example.test`;
	const account = { email, password: PASSWORD, name: LONG.text };
	const { id } = ok(await client.post<{ id: string }>("/auth/register", account), 201);
	const colleague = { ...account, id, token: await login(client, account) };
	await fillWithLongNames(admin, colleague);
	const { slug, key, machine } = LONG;
	const { id: token, name } = await apiToken(client, colleague, "read", { realm: slug });
	await visit(colleague, { "": "Realms", "/account": "Your account" });
	await visit(admin, {
		"": "Realms",
		...pagesOf(slug),
		[`/realms/${slug}/secrets/${key}?env=prod`]: `${key} in prod`,
		[`/realms/${slug}/secrets/${key}/delete?env=prod`]: `Delete ${key} in prod?`,
		[`/realms/${slug}/machines`]: `Machines of ${slug}`,
		[`/realms/${slug}/machines/${machine}`]: `Machine ${machine}`,
		"/people": "People",
		[`/people/${id}`]: email,
		[`/people/${id}/tokens/${token}/end`]: `End the token ${name}?`,
		"/audit": "Audit",
	});
});

test("a new server's first page has no finding, before and after a mistake", skip, async () => {
	const fresh = await startServer({ env: { SVC_REGISTRATION_MODE: "admin" } });
	ends.defer(() => fresh.close());
	const { page, complaints, close } = await takeSeat(browser);
	await page.goto(fresh.url);
	await heading(page, "Set up this server");
	assert.deepEqual(await inspect(page), []);
	await page.getByLabel("E-mail").fill("ada@example.test");
	for (const label of ["Password", "The same password again"])
		await page.getByLabel(label, { exact: true }).fill(PASSWORD);
	await page.getByLabel("Setup code").fill("a guess");
	await page.getByRole("button", { name: "Make the account" }).click();
	await page.getByRole("alert").waitFor();
	assert.deepEqual(await inspect(page), []);
	assert.deepEqual(complaints, []);
	await close();
});

/** Shows markup that a browser would leave again: a page that goes on by itself. */
async function show(page: Page, text: string, title: string): Promise<string[]> {
	await page.setContent(text);
	await heading(page, title);
	return inspect(page);
}

test("a page that goes on by itself, and one at another address, have no finding", skip, async () => {
	const { page, close } = await takeSeat(browser);
	const moving = await ask(server, "GET", "/console", { "sec-fetch-site": "cross-site" });
	assert.deepEqual(await show(page, moving.text, "One moment"), []);
	const elsewhere = await ask(server, "GET", "/console", { host: "another.test" });
	assert.equal(elsewhere.status, 421);
	assert.deepEqual(await show(page, elsewhere.text, "The console is at another address"), []);
	await close();
});
