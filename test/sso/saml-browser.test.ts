/* SAML in a real browser, at a real provider: its redirect, its own pages, the form that it posts to us, and the way into the console. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type Simplesaml, skipWithoutSimplesaml, startSimplesaml } from "../peers/simplesaml.ts";
import { type SamlWorld, startSamlWorld } from "./saml-world.ts";

const PASSWORD = "alice's password";
const ALICE = { uid: ["a-1"], email: ["alice@corp.test"], displayName: ["Alice"] };

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
const options = { skip: skipWithoutChromium || skipWithoutSimplesaml };

let world: SamlWorld;
let corp: Simplesaml;
let browser: Browser;

before(async () => {
	if (options.skip !== false) return;
	world = await startSamlWorld();
	ends.defer(world.close);
	corp = await startSimplesaml({ alice: { password: PASSWORD, attributes: ALICE } });
	ends.defer(corp.stop);
	const idp_metadata = await corp.metadata();
	await world.set("corp", { idp_metadata, email_attribute: "email", name_attribute: "displayName" });
	await corp.trust((await world.client.get("/auth/saml/corp/metadata")).text);
	browser = await startBrowser();
	ends.defer(() => browser.close());
});

/** Gives the password on the provider's own page. @returns its origin */
async function signInThere(page: Page, javaScriptEnabled: boolean): Promise<string> {
	await page.locator("#username").fill("alice");
	await page.locator("#password").fill(PASSWORD);
	const { origin } = new URL(page.url());
	assert.notEqual(origin, world.server.url);
	await page.locator("#password").press("Enter");
	if (!javaScriptEnabled) await page.locator("#postLoginSubmitButton").click();
	return origin;
}

for (const javaScriptEnabled of [true, false]) {
	const how = javaScriptEnabled ? "with" : "without";
	test(`Alice signs in, and again when she is asked, ${how} JavaScript`, options, async () => {
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		await page.goto(`${world.server.url}/console/account`);
		await page.getByRole("link", { name: "Sign in with corp" }).click();
		const provider = await signInThere(page, javaScriptEnabled);
		await heading(page, "Your account");
		await page.getByRole("link", { name: "alice@corp.test" }).waitFor();
		assert.equal(page.url(), `${world.server.url}/console/account`);

		await page.goto(`${world.server.url}/console/confirm?target=/console/account/sessions`);
		await page.getByRole("button", { name: "Confirm with corp" }).click();
		// The provider knows her by now, and asks all the same.
		await signInThere(page, javaScriptEnabled);
		await heading(page, "Your sessions");
		await page.getByRole("status").getByText("Confirmed for 5 minutes").waitFor();
		assert.deepEqual(
			complaints.filter((text) => !text.includes(provider)),
			[],
		);
		await close();
	});
}
