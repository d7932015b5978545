/* The errands of a person who has a keyboard and no mouse. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type ConsoleWorld, startConsoleWorld } from "../harness/console-world.ts";
import { ok } from "../harness/expect.ts";
import { bind, type Person, person, secret, secretPath, unique } from "../harness/fixtures.ts";
import { type Keyboard, keyboardOf } from "../harness/keyboard.ts";

const ends = new AsyncDisposableStack();
let world: ConsoleWorld;
let browser: Browser;

before(async () => {
	if (skipWithoutChromium !== false) return;
	world = await startConsoleWorld();
	ends.defer(world.close);
	browser = await startBrowser();
	ends.defer(() => browser.close());
});
after(() => ends.disposeAsync());

/** Somebody at a keyboard, with the console open. */
interface Typist extends Keyboard {
	readonly page: Page;
	/** Waits for the message that follows a change. */
	shown(text: RegExp): Promise<void>;
	/** Waits for a page's heading. */
	at(name: string): Promise<void>;
}

/** Tests an errand by keyboard alone: its first step is to sign in. */
function errand(what: string, path: () => string, run: (typist: Typist) => Promise<void>, who?: () => Person): void {
	test(what, { skip: skipWithoutChromium }, async () => {
		const { page, complaints, close } = await takeSeat(browser);
		const keyboard = keyboardOf(page);
		const { email, password } = who?.() ?? world.admin;
		await page.goto(`${world.server.url}${path()}`);
		await keyboard.type(/^E-mail$/, email);
		await keyboard.type(/^Password$/, password);
		await page.keyboard.press("Enter");
		const shown = (text: RegExp) => page.getByRole("status").getByText(text).waitFor();
		await run({ ...keyboard, page, shown, at: (name) => heading(page, name) });
		assert.deepEqual(complaints, []);
		await close();
	});
}

const inRealm = (path = "") => `/console/realms/${world.slug}${path}`;

errand(
	"somebody finds a key and reveals it",
	() => "/console",
	async ({ page, press, type, at }) => {
		await at("Realms");
		await press(/^Skip to the page$/);
		await press(new RegExp(`^${world.slug}$`));
		await at(world.slug);
		await type(/^Find a key$/, "db_url");
		await page.keyboard.press("Enter");
		await page.getByText("1 key, with").waitFor();
		await press(/^payments\/DB_URL$/);
		await at("payments/DB_URL in dev");
		await press(/^Reveal$/);
		await page.getByText("postgres://payments@db.dev.internal").waitFor();
		await press(/^Copy$/);
		await page
			.getByRole("status")
			.getByText(/Copied/)
			.waitFor();
	},
);

errand(
	"somebody writes a version, goes back to the one before, ends a lease and signs out",
	() => inRealm("/secrets/TYPED?env=dev"),
	async ({ press, type, shown, at }) => {
		await at("TYPED in dev");
		for (const value of ["one", "two"]) {
			await type(/^New value$/, value);
			await type(/^Comment/, "typed");
			await press(/^Write$/);
			await shown(value === "one" ? /Version 1/ : /Version 2/);
		}
		await press(/^Roll back to version 1$/);
		await shown(/as version 3/);
		await press(/^Leases$/);
		await at(`Leases of ${world.slug}`);
		await press(/^End now: /);
		await shown(/The credential is gone/);
		await press(/^Sign out$/);
		await at("Sign in");
	},
);

errand(
	"somebody makes a realm and its first secret",
	() => "/console",
	async ({ press, type, choose, shown, at }) => {
		const slug = unique("garden");
		await at("Realms");
		await type(/^Slug/, slug);
		await type(/^Name$/, "Garden");
		await press(/^Make the realm$/);
		await at(slug);
		await type(/^Key$/, "services/a.b-c/KEY");
		await choose(/^Environment$/, "staging");
		await press(/^Go on$/);
		await at("services/a.b-c/KEY in staging");
		await type(/^New value$/, "one");
		await press(/^Write$/);
		await shown(/Version 1 is written/);
	},
);

errand(
	"somebody deletes a secret and restores it",
	() => inRealm("/secrets/RESTORED?env=dev"),
	async ({ press, type, shown, at }) => {
		await at("RESTORED in dev");
		await type(/^New value$/, "one");
		await press(/^Write$/);
		await shown(/Version 1 is written/);
		await press(/^Delete RESTORED in dev$/);
		await at("Delete RESTORED in dev?");
		await press(/^Delete/);
		await shown(/deleted/);
		await at(`Deleted secrets of ${world.slug}`);
		await press(/^Restore RESTORED/);
		await shown(/restored/);
		const { value } = ok(
			await world.client.get<{ value: string }>(`${secretPath(world.slug, "RESTORED")}?env=dev`, world.admin),
		);
		assert.equal(value, "one");
	},
);

errand(
	"somebody compares two environments and promotes a key to the other",
	() => inRealm("/compare?from=test&to=staging"),
	async ({ page, press, shown, at }) => {
		await secret(world.client, world.admin, world.slug, "ONLY_IN_TEST", "one", { environment: "test" });
		await at(`Compare environments of ${world.slug}`);
		await page.reload();
		await press(/ONLY_IN_TEST/, "Space");
		await press(/^Promote the ticked keys$/);
		await at("Promote 1 key from test to staging?");
		await press(/^Promote 1 key to staging$/);
		await shown(/ONLY_IN_TEST/);
	},
);

errand(
	"somebody invites a person, and changes and removes the role of another",
	() => inRealm("/members"),
	async ({ page, press, type, choose, shown, at }) => {
		const bob = await person(world.client, "bob");
		await bind(world.client, world.admin, world.slug, bob, "viewer");
		await at(`Members of ${world.slug}`);
		await page.reload();
		await choose(new RegExp(`^New role of ${bob.email}$`), "member");
		await press(new RegExp(`^Change the role of ${bob.email}$`));
		await shown(/role is changed/);
		await press(new RegExp(`^Remove ${bob.email}$`));
		await shown(/role is removed/);
		await press(/^Invite somebody$/);
		await at(`Invite somebody into ${world.slug}`);
		await type(/^E-mail/, `${unique("guest")}@example.test`);
		await press(/^Invite$/);
		await shown(/is invited/);
		await press(/^Copy the link$/);
		await page
			.getByRole("status")
			.getByText(/Copied/)
			.waitFor();
		await press(/^Open invitations$/);
		await at("Open invitations");
	},
);

errand(
	"somebody makes a machine, a token of it and a trust, and sees why a person may not write",
	() => inRealm("/machines"),
	async ({ page, press, type, shown, at }) => {
		const name = unique("typed");
		await at(`Machines of ${world.slug}`);
		await type(/^Name$/, name);
		await press(/^write$/, "Space");
		await press(/^Make the machine$/);
		await at(`Machine ${name}`);
		await press(/^Make the token$/);
		await shown(/The token is made/);
		await press(/^Trust Kubernetes$/);
		await at("Trust Kubernetes");
		await type(/^uid of the service account$/, "0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d");
		await type(/^Issuer/, "no address");
		await press(/^Trust it$/);
		await page
			.getByRole("alert")
			.getByText(/issuer must be/)
			.waitFor();
		await press(/^Members$/);
		await at(`Members of ${world.slug}`);
		await press(/^Why somebody may or may not/);
		await at(`What you may do in ${world.slug}`);
		await type(/^E-mail, or empty/, world.admin.email);
		await press(/^Explain$/);
		await at(`What ${world.admin.email} may do in ${world.slug}`);
	},
);

errand(
	"somebody makes and ends a token, and ends a session elsewhere",
	() => "/console/account/token",
	async ({ press, type, shown, at }) => {
		const name = unique("typed");
		await at("New API token");
		await type(/^Name/, name);
		await press(/^Make the token$/);
		await shown(/The token is made/);
		await press(/^Your tokens$/);
		await at("Your account");
		await press(new RegExp(`^End the token ${name}$`));
		await shown(/The token has ended/);
		await press(/^Where you are signed in$/);
		await at("Your sessions");
		await press(/^End the session that began/);
		await shown(/The session has ended/);
	},
);
