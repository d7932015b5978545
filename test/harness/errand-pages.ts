import type { Page } from "playwright-core";
import type { ListedPage } from "./console-world.ts";
import type { EngineWorld } from "./engine-world.ts";
import { ok } from "./expect.ts";
import { invitation, machineToken, PASSWORD, realm, secret, secretPath, unique } from "./fixtures.ts";

const OLD = "payments/OLD_URL";
const KEY = "payments/DB_URL";

/** Makes the step that opens a part of a page. */
export const unfold = (summary: string) => (page: Page) => page.getByText(summary, { exact: true }).click();

const ENGINES = "Only some roles of engines";

/** Makes a page below a realm. @param heading may name the realm as `shop` */
export const inRealm = (name: string, path: string, heading: string): ListedPage => ({
	name,
	path: (slug) => `/console/realms/${slug}/${path}`,
	heading: (slug) => heading.replace("shop", slug),
});

const ofKey = (key: string, action: string) => `secrets/${encodeURIComponent(key)}/${action}?env=prod`;

/** Pages of errands: people, machines, tokens, what was deleted. */
export const ERRAND_PAGES: readonly ListedPage[] = [
	{ name: "register", path: () => "/console/register", heading: () => "Make your account", isPublic: true },
	{
		name: "sign-in-passkey",
		path: () => "/console/sign-in/passkey",
		heading: () => "Sign in with a passkey",
		isPublic: true,
	},
	inRealm("secret-delete", ofKey(KEY, "delete"), `Delete ${KEY} in prod?`),
	inRealm("secret-purge", ofKey(OLD, "purge"), `Permanently remove ${OLD} in prod?`),
	inRealm("deleted", "deleted", "Deleted secrets of shop"),
	inRealm("compare", "compare?from=staging&to=prod", "Compare environments of shop"),
	{
		...inRealm("compare-promote", "compare?from=staging&to=prod", "Compare environments of shop"),
		async prepare(page) {
			await page.getByRole("checkbox", { name: "Tick NEW_KEY" }).check();
			await page.getByRole("button", { name: "Promote the ticked keys" }).click();
			await page.getByRole("heading", { name: "Promote 1 key from staging to prod?" }).waitFor();
		},
	},
	inRealm("invite", "invite", "Invite somebody into shop"),
	{
		...inRealm("invite-made", "invite", "Invite somebody into shop"),
		async prepare(page) {
			await page.getByLabel("E-mail").fill(`${unique("invited")}@example.test`);
			await page.getByRole("button", { name: "Invite" }).click();
			await page.locator("#link").waitFor();
		},
	},
	{ ...inRealm("machines", "machines", "Machines of shop"), prepare: unfold(ENGINES) },
	inRealm("machine", "machines/deploy", "Machine deploy"),
	inRealm("machine-delete", "machines/deploy/delete", "Delete the machine deploy?"),
	inRealm("trust-github", "machines/deploy/trust?type=github", "Trust GitHub Actions"),
	inRealm("trust-gitlab", "machines/deploy/trust?type=gitlab", "Trust GitLab CI"),
	inRealm("trust-kubernetes", "machines/deploy/trust?type=kubernetes", "Trust Kubernetes"),
	inRealm("trust-oidc", "machines/deploy/trust?type=oidc", "Trust another issuer"),
	{
		name: "explain",
		path: (slug) => `/console/realms/${slug}/explain?user=&env=prod`,
		heading: (slug) => `What you may do in ${slug}`,
	},
	inRealm("realm-settings", "settings", "Settings of shop"),
	inRealm("realm-delete", "settings/delete", "Delete the realm shop?"),
	{ name: "deleted-realms", path: () => "/console/deleted-realms", heading: () => "Deleted realms" },
	{
		name: "lease-abandon",
		path: (_, { lease }) => `/console/leases/${lease}/abandon`,
		heading: () => "Abandon this lease?",
	},
	{ name: "invitations", path: () => "/console/invitations", heading: () => "Open invitations" },
	{ name: "identities", path: () => "/console/account/identities", heading: () => "How you sign in" },
	{ name: "factors", path: () => "/console/account/factors", heading: () => "Second factor" },
	{
		name: "factors-secret",
		path: () => "/console/account/factors",
		heading: () => "Second factor",
		async prepare(page) {
			await page.getByLabel("Password of your account").first().fill(PASSWORD);
			await page.getByRole("button", { name: "Show the QR code" }).click();
			await page.getByRole("img", { name: "QR code" }).waitFor();
		},
	},
	{
		name: "factors-passkey",
		path: () => "/console/account/factors",
		heading: () => "Second factor",
		async prepare(page) {
			const form = page.locator("form").filter({ has: page.getByLabel("Name of the passkey") });
			await form.getByLabel("Name of the passkey").fill("laptop");
			await form.getByLabel("Password of your account").fill(PASSWORD);
			await form.getByRole("button", { name: "Go on" }).click();
			await page.getByRole("button", { name: "Make the passkey now" }).waitFor();
		},
	},
	{ name: "chain", path: () => "/console/chain", heading: () => "The audit log's chain" },
	{
		name: "token",
		path: () => "/console/account/token",
		heading: () => "New API token",
		prepare: unfold(ENGINES),
	},
	{
		name: "token-made",
		path: () => "/console/account/token",
		heading: () => "New API token",
		async prepare(page) {
			await page.getByLabel("Name").fill("deploy");
			await page.getByRole("button", { name: "Make the token" }).click();
			await page.locator("[data-value]").waitFor();
		},
	},
];

/** Gives the pages of errands something to show. */
export async function prepareErrands({ client, admin, slug }: EngineWorld): Promise<void> {
	const { token } = admin;
	await secret(client, admin, slug, OLD, "one", { environment: "prod" });
	ok(await client.delete(`${secretPath(slug, OLD)}?env=prod`, { token }));
	await secret(client, admin, slug, "NEW_KEY", "one", { environment: "staging" });
	const { slug: old } = await realm(client, admin, "old-shop");
	ok(await client.delete(`/realms/${old}`, { token }));
	const machine = { role: "viewer", environment: "prod", description: "rolls out <script>alert(1)</script>" };
	ok(await client.put(`/realms/${slug}/machines/deploy`, machine, { token }));
	await machineToken(client, admin, slug, "deploy");
	await invitation(client, admin, { bindings: [{ realm: slug, role: "member" }] });
}
