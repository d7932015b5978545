/* What a form shows after a refusal: what was typed, the reason next to its field, and the menu. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { PASSWORD, realm, unique } from "../harness/fixtures.ts";

const errand = startErrands();

const menu = (page: Page) => page.getByRole("navigation", { name: "Console" }).getByRole("link");

/** Waits for the refusal, once at the top and once as what the field is described by. */
async function refused(page: Page, label: string, text: RegExp): Promise<void> {
	await page.getByRole("alert").getByText(text).waitFor();
	const field = page.getByLabel(label, { exact: true });
	assert.equal(await field.getAttribute("aria-invalid"), "true");
	const described = String(await field.getAttribute("aria-describedby")).split(" ")[0] ?? "";
	assert.match(String(await page.locator(`[id="${described}"]`).textContent()), text);
	assert.equal(await page.locator(":focus").getAttribute("id"), await field.getAttribute("id"), "it has the focus");
	assert.deepEqual(await menu(page).allTextContents(), ["Realms", "Server"]);
}

errand("a refused form comes back with what was typed, its menu and the reason", async ({ page, slug, open }) => {
	await open(`/realms/${slug}/machines`);
	await page.getByLabel("Name").fill("No Such Name");
	await page.getByLabel("write", { exact: true }).check();
	await page.getByLabel("Description").fill("rolls out <b>");
	await page.getByRole("button", { name: "Make the machine" }).click();
	await page.getByRole("alert").waitFor();
	await heading(page, `Machines of ${slug}`);
	assert.equal(await page.getByLabel("Name").inputValue(), "No Such Name");
	assert.equal(await page.getByLabel("Description").inputValue(), "rolls out <b>");
	assert.equal(await page.getByLabel("write", { exact: true }).isChecked(), true);
	await page.getByLabel("Name").fill("deploy");
	await page.getByRole("button", { name: "Make the machine" }).click();
	await heading(page, "Machine deploy");
	await page.getByText("It may: viewer, write.").waitFor();
	await open(`/realms/${slug}/machines`);
	await page.getByLabel("Name").fill("deploy");
	await page.getByRole("button", { name: "Make the machine" }).click();
	await refused(page, "Name", /has a machine of this name/);
});

errand("a refused password is typed again, and stands in no page", async ({ page, open }) => {
	await open("/account/identities");
	await page.getByLabel("Current password").fill("canary of a wrong password");
	await page.getByLabel("New password, of 12 characters or more").fill("canary of a new password");
	await page.getByLabel("The same password again").fill("canary of a new password");
	await page.getByRole("button", { name: "Change the password" }).click();
	await refused(page, "Current password", /password/);
	assert.doesNotMatch(await page.content(), /canary/);
});

errand("the secret of an app stays after a wrong first code, and Copy takes it without the link", async (desk) => {
	const { page, open } = desk;
	await open("/account/factors");
	await page.getByLabel("Password of your account").first().fill(PASSWORD);
	await page.getByRole("button", { name: "Show the QR code" }).click();
	const secret = String(await page.locator("#once-text").textContent());
	assert.match(secret, /^[A-Z2-7]{16,}$/);
	await page.getByRole("img", { name: /QR code/ }).waitFor();
	await page.getByLabel("First code of the app").fill("000000");
	await page.getByRole("button", { name: "Confirm" }).click();
	await refused(page, "First code of the app", /code/);
	assert.equal(String(await page.locator("#once-text").textContent()), secret);
	await page.getByRole("img", { name: /QR code/ }).waitFor();
	const copy = page.getByRole("button", { name: "Copy", exact: true });
	if (await copy.isVisible()) {
		await copy.click();
		await desk.shows("Copied.");
		assert.equal(await page.evaluate("navigator.clipboard.readText()"), secret);
	}
	await open("/account/factors");
	assert.equal((await page.content()).includes(secret), false, "only the refusal shows it again");
});

errand("a page of an error keeps the menu of its realm", async ({ page, client, ada, slug, open }) => {
	await open(`/realms/${slug}/machines/none`);
	await heading(page, "Not found");
	const tabs = page.getByRole("navigation", { name: `Realm ${slug}` }).getByRole("link");
	assert.deepEqual(await tabs.allTextContents(), ["Secrets", "Leases", "Members", "Machines", "Audit", "Settings"]);
	const other = await realm(client, ada, unique("other"));
	ok(await client.delete(`/realms/${other.slug}`, { token: ada.token }));
	await open(`/realms/${other.slug}/members`);
	await heading(page, "Not found");
	assert.deepEqual(await menu(page).allTextContents(), ["Realms", "Server"]);
});
