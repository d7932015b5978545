import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, type Seat, signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type Api, api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let browser: Browser | undefined;

const skip = { skip: skipWithoutChromium };

before(async () => {
	if (skipWithoutChromium !== false) return;
	server = await startServer();
	client = api(server);
	browser = await startBrowser();
});
after(async () => {
	await browser?.close();
	if (browser !== undefined) await server.close();
});

function chrome(): Browser {
	assert.ok(browser);
	return browser;
}

/** Makes an owner with a realm that has two keys. */
async function shop() {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "shop");
	const set = async (key: string, value: string, environment: string) =>
		ok(await client.post(`/realms/${slug}/secrets`, { key, value, environment }, { token: ada.token }), 201);
	await set("DB_URL", "postgres://first", "prod");
	await set("services/a.b-c/KEY", "another", "dev");
	return { ada, slug };
}

/** Copies the open secret's value; without a script the page does not offer it. */
async function copyWithoutShowing(page: Page, hasScript: boolean): Promise<void> {
	const button = page.getByRole("button", { name: "Copy without showing" });
	if (!hasScript) return assert.equal(await button.count(), 0);
	await page.evaluate("navigator.clipboard.writeText('something else')");
	await button.click();
	await page
		.getByRole("status")
		.getByText(/Copied/)
		.waitFor();
	assert.equal(await page.evaluate("navigator.clipboard.readText()"), "postgres://first");
	assert.doesNotMatch(await page.content(), /postgres:/, "it is in the clipboard alone");
}

async function errand({ page, complaints }: Seat, hasScript: boolean) {
	const { ada, slug } = await shop();
	await signIn(page, server, ada);
	await heading(page, "Realms");
	await page.getByRole("link", { name: slug, exact: true }).click();
	await heading(page, slug);

	await page.getByRole("searchbox", { name: "Find a key" }).fill("db_");
	await page.getByRole("button", { name: "Find" }).click();
	assert.equal(await page.getByRole("rowheader").count(), 1);
	await page
		.getByRole("row", { name: /DB_URL/ })
		.getByRole("link", { name: "v1" })
		.click();
	await heading(page, "DB_URL in prod");
	assert.doesNotMatch(await page.content(), /postgres:/);

	await page.getByRole("button", { name: "Reveal" }).click();
	await page.getByText("postgres://first").waitFor();
	if (hasScript) {
		await page.getByRole("button", { name: "Copy" }).click();
		await page
			.getByRole("status")
			.getByText(/Copied/)
			.waitFor();
		assert.equal(await page.evaluate("navigator.clipboard.readText()"), "postgres://first");
	}
	await page.reload();
	await heading(page, "DB_URL in prod");
	assert.doesNotMatch(await page.content(), /postgres:/, "a reload hides it");
	await copyWithoutShowing(page, hasScript);

	await page.getByRole("textbox", { name: "New value" }).fill("two\nlines");
	await page.getByRole("textbox", { name: /Comment/ }).fill("moved to the new host");
	await page.getByRole("button", { name: "Write", exact: true }).click();
	await page.getByRole("status").getByText("Version 2 is written.").waitFor();
	const written = page.getByText(/^Version 2, written /);
	assert.match(String(await written.textContent()), new RegExp(` by ${ada.email}: moved to the new host$`));
	const newest = page.getByRole("row", { name: /moved to the new host/ });
	assert.match(String(await newest.textContent()), new RegExp(`^2.*${ada.email}`));
	const read = await client.get<{ value: string }>(`/realms/${slug}/secrets/DB_URL?env=prod`, { token: ada.token });
	assert.equal(read.body.value, "two\nlines");

	await page.getByRole("button", { name: "Roll back to version 1" }).click();
	await page
		.getByRole("status")
		.getByText(/as version 3/)
		.waitFor();
	await page.getByRole("button", { name: "Sign out" }).click();
	await heading(page, "Sign in");
	assert.deepEqual(complaints, []);
}

test("somebody finds a key, reveals it, writes it, sees who changed it and rolls back", skip, async () => {
	const seat = await takeSeat(chrome());
	await errand(seat, true);
	await seat.close();
});

test("the same without JavaScript", skip, async () => {
	const seat = await takeSeat(chrome(), { javaScriptEnabled: false });
	await errand(seat, false);
	await seat.close();
});

for (const javaScriptEnabled of [true, false]) {
	test(`Back does not show a value again, ${javaScriptEnabled ? "with" : "without"} JavaScript`, skip, async () => {
		const { ada, slug } = await shop();
		const { page, close } = await takeSeat(chrome(), { javaScriptEnabled });
		await signIn(page, server, ada, `/console/realms/${slug}/secrets/DB_URL?env=prod`);
		await heading(page, "DB_URL in prod");
		await page.getByRole("button", { name: "Reveal" }).click();
		await page.getByText("postgres://first").waitFor();
		await page.getByRole("link", { name: "Realms" }).click();
		await heading(page, "Realms");
		await page.goBack();
		await heading(page, "DB_URL in prod");
		assert.doesNotMatch(await page.content(), /postgres:/);
		await close();
	});
}

test("Back does not show a value that was typed", skip, async () => {
	const { ada, slug } = await shop();
	const { page, close } = await takeSeat(chrome());
	await signIn(page, server, ada, `/console/realms/${slug}/secrets/DB_URL?env=dev`);
	await page.getByRole("textbox", { name: "New value" }).fill("postgres://typed");
	await page.getByRole("button", { name: "Write" }).click();
	await page.getByRole("status").getByText("is written").waitFor();
	await page.goBack();
	await heading(page, "DB_URL in dev");
	assert.equal(await page.getByRole("textbox", { name: "New value" }).inputValue(), "");
	await close();
});

test("somebody makes a realm and its first secret", skip, async () => {
	const ada = await person(client, "first");
	const { page, complaints, close } = await takeSeat(chrome());
	await signIn(page, server, ada);
	await page.getByText("You have no realm yet").waitFor();
	await page.getByLabel("Slug").fill("garden");
	await page.getByLabel("Name").fill("Garden");
	await page.getByRole("button", { name: "Make the realm" }).click();
	await heading(page, "garden");
	await page.getByLabel("Key", { exact: true }).fill("services/a.b-c/KEY");
	await page.getByLabel("Environment").selectOption("staging");
	await page.getByRole("button", { name: "Go on" }).click();
	await heading(page, "services/a.b-c/KEY in staging");
	await page.getByRole("textbox", { name: "New value" }).fill("one");
	await page.getByRole("button", { name: "Write" }).click();
	await page.getByRole("status").getByText("Version 1 is written.").waitFor();
	assert.deepEqual(complaints, []);
	await close();
});

test("a write in between is not overwritten, and what was typed can be written over it", skip, async () => {
	const { ada, slug } = await shop();
	const { page, complaints, close } = await takeSeat(chrome(), { javaScriptEnabled: false });
	await signIn(page, server, ada, `/console/realms/${slug}/secrets/DB_URL?env=prod`);
	const write = async (comment: string) => {
		const between = { key: "DB_URL", value: "of a colleague", environment: "prod", comment };
		ok(await client.post(`/realms/${slug}/secrets`, between, { token: ada.token }), 201);
	};
	const read = async () =>
		ok(await client.get<{ value: string }>(`/realms/${slug}/secrets/DB_URL?env=prod`, { token: ada.token })).value;
	await write("moved <b>");
	await page.getByRole("textbox", { name: "New value" }).fill("mine\ntwo");
	await page.getByRole("textbox", { name: /^Comment/ }).fill("the new host");
	await page.getByRole("button", { name: "Write", exact: true }).click();
	const alert = page.getByRole("alert");
	await alert.getByText(`${ada.email} wrote version 2 in between`).waitFor();
	await alert.getByText("with the comment: moved <b>").waitFor();
	assert.doesNotMatch(await page.content(), /mine|of a colleague/);
	assert.equal(await page.getByLabel("Your comment").inputValue(), "the new host");
	await write("once more");
	await page.getByRole("button", { name: "Write it over version 2" }).click();
	await alert.getByText("wrote version 3 in between").waitFor();
	assert.equal(await read(), "of a colleague");
	await page.getByRole("button", { name: "Write it over version 3" }).click();
	await page.getByRole("status").getByText("Version 4 is written.").waitFor();
	assert.equal(await read(), "mine\ntwo");
	await page.getByRole("row", { name: /the new host/ }).waitFor();
	assert.equal(await page.getByRole("alert").count(), 0, "it is forgotten");
	assert.deepEqual(complaints, []);
	await close();
});
