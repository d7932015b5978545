import type { Page } from "playwright-core";
import type { ListedPage } from "./console-world.ts";
import { inRealm } from "./errand-pages.ts";

/** Somebody with a role in the realm. */
export const COLLEAGUE = "a-colleague-with-a-rather-long-name@example.test";

/** Texts that somebody types into the fields of a form, by their labels. */
type Typed = Readonly<Record<string, string>>;

/** Makes the step that sends a form which is refused. */
const refusing = (typed: Typed, button: string) => async (page: Page) => {
	for (const [label, text] of Object.entries(typed)) {
		const field = page.getByLabel(label, { exact: true }).first();
		await field.fill(text);
	}
	await page.getByRole("button", { name: button, exact: true }).first().click();
	await page.getByRole("alert").first().waitFor();
};

/** Makes the page of a form that comes back. */
function refused(
	listed: Pick<ListedPage, "name" | "path" | "heading" | "isPublic">,
	typed: Typed,
	button: string,
): ListedPage {
	return { ...listed, name: `${listed.name}-refused`, prepare: refusing(typed, button) };
}

const at = (name: string, path: string, heading: string) => ({ name, path: () => path, heading: () => heading });

/** The wrong one, wherever a form asks for a password. */
const WRONG = "not the password";

/** Forms that are refused, by strangers and in a realm. */
const REFUSED_IN_REALMS: readonly ListedPage[] = [
	refused(
		{ ...at("sign-in", "/console/sign-in", "Sign in"), isPublic: true },
		{ "E-mail": "nobody@example.test", Password: WRONG },
		"Sign in",
	),
	refused(
		{ ...at("register", "/console/register", "Make your account"), isPublic: true },
		{ "E-mail": "guest@example.test", Password: "one of them", "The same password again": "another" },
		"Make the account",
	),
	refused(
		at("realms", "/console", "Realms"),
		{ "Slug, for addresses and commands": "Not a slug", Name: "Garden" },
		"Make the realm",
	),
	refused(
		inRealm("secret", "secret?key=NEW_KEY&env=dev", "NEW_KEY in dev"),
		{ "New value": "one", "Expires (UTC); empty for never": "2020-01-31T12:00:00" },
		"Write",
	),
	{
		...inRealm("secret-conflict", "secret?key=CONFLICT&env=dev", "CONFLICT in dev"),
		async prepare(page, world) {
			await world.write("CONFLICT", "one", "dev", "in between");
			await refusing({ "New value": "two", "Comment: why it changes": "mine" }, "Write")(page);
		},
	},
	refused(
		inRealm("members", "members", "Members of shop"),
		{ "E-mail of the account": "nobody@example.test" },
		"Give the role",
	),
	refused(inRealm("machines", "machines", "Machines of shop"), { Name: "deploy" }, "Make the machine"),
	refused(
		inRealm("trust-github", "machines/deploy/trust?type=github", "Trust GitHub Actions"),
		{ "Number of the repository": "one", "Number of its owner": "two", "Name of the branch or tag": "main" },
		"Trust it",
	),
	refused(
		inRealm("realm-settings", "settings", "Settings of shop"),
		{ "E-mail of the new owner": "nobody@example.test" },
		"Transfer the realm",
	),
	refused(
		inRealm("realm-delete", "settings/delete", "Delete the realm shop?"),
		{ "Type the slug to confirm": "another" },
		"Delete the realm",
	),
	refused(
		inRealm("secret-purge", "secrets/NEW_KEY/purge?env=staging", "Permanently remove NEW_KEY in staging?"),
		{ "Type the key to confirm": "another" },
		"Remove it permanently",
	),
];

/** Forms of the server and of accounts that are refused. */
const REFUSED_ELSEWHERE: readonly ListedPage[] = [
	refused(
		at("engine", "/console/engines/keyvalue", "Engine keyvalue"),
		{ "address (required)": "127.0.0.1:1", "password (required)": "a password", "allowed_realms (required)": "shop" },
		"Test and store",
	),
	refused(
		at("provider", "/console/provider?name=directory&type=ldap", "Provider directory"),
		{ "url (required)": "ldap://127.0.0.1:1", "user_base_dn (required)": "dc=test" },
		"Test and store",
	),
	refused(
		at("password", "/console/account/identities", "How you sign in"),
		{
			"Current password": WRONG,
			"New password, of 12 characters or more": "another password",
			"The same password again": "another password",
		},
		"Change the password",
	),
	refused(
		at("confirm-password", "/console/confirm?target=/console/account", "Is it you?"),
		{ "Password of your account": WRONG },
		"Confirm",
	),
	refused(
		at("factors", "/console/account/factors", "Second factor"),
		{ "Password of your account": WRONG },
		"Show the QR code",
	),
];

/** Pages with little to show, and pages of errors. */
const OTHERS: readonly ListedPage[] = [
	{
		...inRealm("invite-known", "invite", "Invite somebody into shop"),
		prepare: refusing({ "E-mail of the new account": COLLEAGUE }, "Invite"),
	},
	{ name: "secrets-none", path: (slug) => `/console/realms/${slug}?q=no-such-key`, heading: (slug) => slug },
	inRealm("audit-none", "audit?key=NO_SUCH_KEY", "Audit of shop"),
	inRealm("audit-refused", "audit?since=soon", "This did not work"),
	inRealm("explain-unknown", "explain?user=nobody@example.test", "What nobody@example.test may do in shop"),
	inRealm("realm-nowhere", "nowhere", "Not found"),
	{
		...inRealm("secret-copied", `secrets/${encodeURIComponent("payments/DB_URL")}?env=dev`, "payments/DB_URL in dev"),
		async prepare(page) {
			await page.getByRole("button", { name: "Copy without showing" }).click();
			await page.getByRole("status").getByText("Copied").waitFor();
		},
	},
	{
		...at("server-backups-made", "/console/backups", "Backups"),
		async prepare(page) {
			await page.getByRole("button", { name: "Make a backup" }).click();
			await page.getByRole("status").getByText("is made and verified").waitFor();
		},
	},
	{
		name: "machine-token-made",
		path: (slug) => `/console/realms/${slug}/machines/deploy`,
		heading: () => "Machine deploy",
		async prepare(page) {
			await page.getByRole("button", { name: "Make the token" }).click();
			await page.locator("[data-value]").waitFor();
		},
	},
	at("server-unknown", "/console/engines/nothing", "Not found"),
	at("not-found", "/console/nowhere", "Not found"),
];

/** Pages as they are when something was refused, is not there, or was just made. */
export const STATE_PAGES: readonly ListedPage[] = [...REFUSED_IN_REALMS, ...REFUSED_ELSEWHERE, ...OTHERS];
