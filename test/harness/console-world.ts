import type { Page } from "playwright-core";
import { heading, signIn } from "./browser.ts";
import { COLLEAGUE, STATE_PAGES } from "./console-states.ts";
import { type EngineWorld, type Lease, startEngineWorld } from "./engine-world.ts";
import { ERRAND_PAGES, prepareErrands, unfold } from "./errand-pages.ts";
import { ok } from "./expect.ts";
import { apiToken, bind, login, PASSWORD, sessionId } from "./fixtures.ts";
import { installMemoEngines, REFUSING } from "./memo-engine.ts";
import type { ApiToken, User } from "./resources.ts";

/** A server whose pages all have something to show. */
export interface ConsoleWorld extends EngineWorld {
	readonly ids: PageIds;
	/** Adds a secret to the realm. */
	write(key: string, value: string, environment: string, comment?: string): Promise<void>;
}

/** Ids that addresses of pages have. */
export interface PageIds {
	/** A lease that cannot be revoked. */
	readonly lease: string;
	/** Somebody else's account, its session and its API token. */
	readonly person: string;
	readonly session: string;
	readonly token: string;
}

/** A page of the console, for tests and pictures that go through all of them. */
export interface ListedPage {
	/** Name of its pictures. */
	readonly name: string;
	path(slug: string, ids: PageIds): string;
	readonly heading: (slug: string) => string;
	/** Makes the page show what it shows only on request. */
	readonly prepare?: (page: Page, world: ConsoleWorld) => Promise<void>;
	/** Set where nobody is signed in. */
	readonly isPublic?: boolean;
}

const KEY = "payments/DB_URL";
/** An API token of the colleague. */
const TOKEN = "nightly import into the warehouse";
const secretPath = (slug: string) => `/console/realms/${slug}/secrets/${encodeURIComponent(KEY)}?env=prod`;

const openTable = unfold("The same as a table");

/** Every page. A test compares this list with the pages of the server. */
export const PAGES: readonly ListedPage[] = [
	{ name: "sign-in", path: () => "/console/account", heading: () => "Sign in", isPublic: true },
	{ name: "realms", path: () => "/console", heading: () => "Realms" },
	{ name: "secrets", path: (slug) => `/console/realms/${slug}`, heading: (slug) => slug },
	{ name: "secret", path: secretPath, heading: () => `${KEY} in prod`, prepare: openTable },
	{
		name: "secret-revealed",
		path: secretPath,
		heading: () => `${KEY} in prod`,
		async prepare(page) {
			await page.getByRole("button", { name: "Reveal" }).click();
			await page.locator("[data-value]").waitFor();
			await openTable(page);
		},
	},
	{
		name: "secret-new",
		path: (slug) => `/console/realms/${slug}/secret?key=NEW_KEY&env=dev`,
		heading: () => "NEW_KEY in dev",
	},
	{ name: "leases", path: (slug) => `/console/realms/${slug}/leases`, heading: (slug) => `Leases of ${slug}` },
	{ name: "members", path: (slug) => `/console/realms/${slug}/members`, heading: (slug) => `Members of ${slug}` },
	{
		name: "audit",
		path: (slug) => `/console/realms/${slug}/audit`,
		heading: (slug) => `Audit of ${slug}`,
		prepare: openTable,
	},
	{
		name: "health",
		path: () => "/console/health",
		heading: () => "Health",
		prepare: openTable,
	},
	{ name: "confirm", path: () => "/console/confirm?target=/console/account", heading: () => "Is it you?" },
	{ name: "confirm-refused", path: () => "/console/confirm/provider?error=forbidden", heading: () => "Is it you?" },
	...["Audit", "Doctor", "Engines", "Leases", "Backups", "Keys", "Limits", "Providers"].map((title) => {
		const name = title.toLowerCase();
		return { name: `server-${name}`, path: () => `/console/${name}`, heading: () => title };
	}),
	{
		name: "engine",
		path: () => "/console/engines/keyvalue",
		heading: () => "Engine keyvalue",
		prepare: unfold("More"),
	},
	{
		name: "engine-remove",
		path: () => "/console/engines/memo-1/remove",
		heading: () => "Remove the configuration of memo-1?",
	},
	{ name: "provider", path: () => "/console/providers/corp", heading: () => "Provider corp", prepare: unfold("More") },
	{
		name: "provider-new",
		path: () => "/console/provider?name=idp&type=saml",
		heading: () => "Provider idp",
		prepare: unfold("More"),
	},
	{
		name: "provider-remove",
		path: () => "/console/providers/tree/remove",
		heading: () => "Remove the provider tree?",
	},
	{ name: "people", path: () => "/console/people", heading: () => "People" },
	{ name: "person", path: () => `/console/people/${COLLEAGUE}`, heading: () => COLLEAGUE },
	{
		name: "person-session-end",
		path: (_, { person, session }) => `/console/people/${person}/sessions/${session}/end`,
		heading: () => "End this session?",
	},
	{
		name: "person-token-end",
		path: (_, { person, token }) => `/console/people/${person}/tokens/${token}/end`,
		heading: () => `End the token ${TOKEN}?`,
	},
	{ name: "account", path: () => "/console/account", heading: () => "Your account" },
	{ name: "sessions", path: () => "/console/account/sessions", heading: () => "Your sessions" },
	...ERRAND_PAGES,
	...STATE_PAGES,
];

/** Starts a server with a realm, its secrets, people, leases and events, and a directory to sign in with. */
export async function startConsoleWorld(): Promise<ConsoleWorld> {
	const engines = await installMemoEngines(2);
	const world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: engines.folder } });
	const { client, admin, slug } = world;
	const { token } = admin;
	const write: ConsoleWorld["write"] = async (key, value, environment, comment = "") => {
		ok(await client.post(`/realms/${slug}/secrets`, { key, value, environment, comment }, { token }), 201);
	};
	for (const environment of ["dev", "test", "staging", "prod"]) {
		await write(KEY, `postgres://payments@db.${environment}.internal/payments?sslmode=verify-full`, environment);
		if (environment !== "prod") await write("mail/SMTP_PASSWORD", "one", environment);
	}
	await write(
		KEY,
		"postgres://payments@db-2.prod.internal/payments",
		"prod",
		"moved to the new host <script>alert(1)</script>",
	);
	await write("CACHE_ADDRESS", "redis://cache.internal", "dev");
	await prepareErrands(world);
	const account = { email: COLLEAGUE, password: PASSWORD, name: "A Colleague" };
	const { id } = ok(await client.post<User>("/auth/register", account), 201);
	const member = { ...account, id, token: await login(client, account) };
	await bind(client, admin, slug, member, "member");
	const made = ok(await client.post<ApiToken>("/auth/tokens", { name: TOKEN }, { token: member.token }), 201);
	await apiToken(client, admin, "read,write", { realm: slug, environment: "prod" });
	await world.configure("memo-1", { note: "a note" });
	for (const ttl of ["20m", "90m", "5h"]) ok(await world.generate("memo-1", { role: "readonly", ttl }));
	const { id: lease } = await stuckLease(world);
	const ids = { lease, person: id, session: sessionId(member.token), token: made.id };
	ok(await client.get(`/realms/${slug}/secrets/${encodeURIComponent(KEY)}?env=prod`, { token: member.token }));
	const directory = { url: "ldap://127.0.0.1:1", user_base_dn: "ou=people,dc=test" };
	const set = async (name: string, type: string, display_name: string, config: object) =>
		ok(
			await client.send("PUT", `/api/v1/auth/providers/${name}`, {
				token,
				raw: JSON.stringify({ type, display_name, config }),
			}),
		);
	await set("tree", "ldap", "the directory", directory);
	await set("corp", "oidc", "Corp", { issuer: "https://id.corp.test", client_id: "svc", client_secret: "s" });
	const close = async () => {
		await world.close();
		await engines.remove();
	};
	return { ...world, ids, write, close };
}

/** Makes a lease that cannot be revoked. */
export async function stuckLease(world: EngineWorld): Promise<Lease> {
	const { client, admin, slug, configure, generate } = world;
	await configure("memo-2", { note: "another note" });
	const made = await generate("memo-2", { role: "readonly", ttl: "1h", note: REFUSING });
	ok(made);
	const id = String(made.headers["x-lease-id"]);
	ok(await client.delete(`/realms/${slug}/leases/${id}`, { token: admin.token }), 202);
	return world.leaseOf(made);
}

/** Opens a page of the list; somebody must be signed in, unless it is public. */
export async function open(page: Page, world: ConsoleWorld, listed: ListedPage): Promise<void> {
	const { server, slug, ids } = world;
	await page.goto(`${server.url}${listed.path(slug, ids)}`);
	await heading(page, listed.heading(slug));
	await listed.prepare?.(page, world);
}

/** Goes through every page, the public ones first. */
export async function visitAll(
	page: Page,
	world: ConsoleWorld,
	look: (listed: ListedPage) => Promise<void>,
): Promise<void> {
	const visit = async (listed: ListedPage) => {
		await open(page, world, listed);
		await look(listed);
	};
	for (const listed of PAGES) if (listed.isPublic === true) await visit(listed);
	await signIn(page, world.server, world.admin);
	for (const listed of PAGES) if (listed.isPublic !== true) await visit(listed);
}
