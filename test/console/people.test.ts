import assert from "node:assert/strict";
import { test } from "node:test";
import { heading, signIn, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { api } from "../harness/client.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { bind, PASSWORD, person, realm, unique } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";

const errand = startErrands();

errand("somebody invites a person, and ends another invitation", async (desk) => {
	const { client, page, slug, shows } = desk;
	const invite = async (email: string) => {
		await desk.open(`/realms/${slug}/members`);
		await page.getByLabel("E-mail of the account").fill(email);
		await page.getByLabel("Role", { exact: true }).selectOption("member");
		await page.getByRole("button", { name: "Invite" }).click();
		await heading(page, `Invite somebody into ${slug}`);
		await shows(email);
		return String(await page.locator("#code").textContent()).trim();
	};
	const [guest, other] = [`${unique("guest")}@example.test`, `${unique("other")}@example.test`];
	const register = (email: string, code: string) =>
		client.post("/auth/register", { email, password: PASSWORD, name: "Guest", invitation: code });
	const code = await invite(guest);
	await page.reload();
	assert.equal((await page.content()).includes(code), false, "it is shown once");
	ok(await register(guest, code), 201);
	await desk.open(`/realms/${slug}/members`);
	assert.match(String(await page.getByRole("row", { name: guest }).textContent()), /member/);

	const ended = await invite(other);
	await page.getByRole("link", { name: "Open invitations" }).click();
	await heading(page, "Open invitations");
	assert.match(String(await page.getByRole("row", { name: other }).textContent()), new RegExp(`member in ${slug}`));
	await page.getByRole("button", { name: `End the invitation of ${other}` }).click();
	await shows(/\binvitation\b.*\bended\b/);
	assert.notEqual((await register(other, ended)).status, 201);
});

test("the link of an invitation fills in the form, and leaves the address", { skip: skipWithoutChromium }, async () => {
	await using ends = new AsyncDisposableStack();
	const server = await startServer();
	ends.defer(() => server.close());
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "shop");
	const browser = await startBrowser();
	ends.defer(() => browser.close());
	const { page, close } = await takeSeat(browser);
	await signIn(page, server, ada, `/console/realms/${slug}/invite`);
	const guest = "guest+one@example.test";
	await page.getByLabel("E-mail").fill(guest);
	await page.getByRole("button", { name: "Invite" }).click();
	const text = async (id: string) => String(await page.locator(`#${id}`).textContent());
	const [link, code, message] = [await text("link"), await text("code"), await text("once-text")];
	assert.ok(message.includes(link) && message.includes(code) && message.includes(guest));
	assert.ok(!link.slice(0, link.indexOf("#")).includes(code), "what a server logs has no code");
	await page.getByRole("button", { name: "Copy the link" }).click();
	assert.equal(await page.evaluate("navigator.clipboard.readText()"), link);
	const { page: other, complaints, close: leave } = await takeSeat(browser);
	await other.goto(link);
	await heading(other, "Make your account");
	assert.equal(await other.getByLabel("E-mail").inputValue(), guest);
	assert.equal(await other.getByLabel("Code of your invitation").inputValue(), code);
	assert.equal(other.url(), `${server.url}/console/register`);
	await other.getByText("An account made without it gets none of them").waitFor();
	for (const label of ["Password", "The same password again"])
		await other.getByLabel(label, { exact: true }).fill(PASSWORD);
	await other.getByRole("button", { name: "Make the account" }).click();
	await other.getByRole("link", { name: slug }).waitFor();
	assert.deepEqual(complaints, []);
	await leave();
	await close();
});

errand("somebody sees why a person may not write, and what would give it", async (desk) => {
	const { client, page, ada, slug } = desk;
	const bob = await person(client, "bob");
	await bind(client, ada, slug, bob, "viewer");
	await desk.open(`/realms/${slug}/members`);
	await page.getByRole("button", { name: "Explain" }).click();
	await heading(page, `What you may do in ${slug}`);
	await page.getByText("Owner of the realm.").waitFor();
	await desk.open(`/realms/${slug}/members`);
	await page.getByLabel("E-mail, or empty").fill(bob.email);
	await page.getByLabel("Environment").selectOption("prod");
	await page.getByRole("button", { name: "Explain" }).click();
	await heading(page, `What ${bob.email} may do in ${slug}`);
	const row = async (name: string) => String(await page.getByRole("row", { name }).textContent());
	assert.match(await row("read every value"), /yesthe role viewer has it/);
	assert.match(await row("write values"), /no.*svc binding set \S+ member/);
	await page.setViewportSize({ width: 375, height: 800 });
	assert.equal(await page.locator("td:empty").filter({ visible: true }).count(), 0, "no heading without its fact");
	await page.getByLabel("E-mail").fill("nobody@example.test");
	await page.getByRole("button", { name: "Explain" }).click();
	await heading(page, `What nobody@example.test may do in ${slug}`);
	await page.getByRole("alert").filter({ hasText: "has a role" }).waitFor();
});
