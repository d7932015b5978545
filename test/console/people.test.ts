import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { bind, PASSWORD, person, unique } from "../harness/fixtures.ts";

const errand = startErrands();

errand("somebody invites a person, and ends another invitation", async (desk) => {
	const { client, page, slug, shows } = desk;
	const invite = async (email: string) => {
		await desk.open(`/realms/${slug}/members`);
		await page.getByRole("link", { name: "Invite somebody" }).click();
		await heading(page, `Invite somebody into ${slug}`);
		await page.getByLabel("E-mail").fill(email);
		await page.getByLabel("Role").selectOption("member");
		await page.getByRole("button", { name: "Invite" }).click();
		await shows(`${email} is invited.`);
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

errand("somebody sees why a person may not write, and what would give it", async (desk) => {
	const { client, page, ada, slug } = desk;
	const bob = await person(client, "bob");
	await bind(client, ada, slug, bob, "viewer");
	await desk.open(`/realms/${slug}/members`);
	await page.getByRole("link", { name: "Why somebody may or may not do something" }).click();
	await heading(page, `What you may do in ${slug}`);
	await page.getByText("Owner of the realm.").waitFor();
	await page.getByLabel("E-mail").fill(bob.email);
	await page.getByLabel("Environment").selectOption("prod");
	await page.getByRole("button", { name: "Explain" }).click();
	await heading(page, `What ${bob.email} may do in ${slug}`);
	const row = async (name: string) => String(await page.getByRole("row", { name }).textContent());
	assert.match(await row("read every value"), /yesthe role viewer has it/);
	assert.match(await row("write values"), /no.*svc binding set \S+ member/);
	await page.getByLabel("E-mail").fill("nobody@example.test");
	await page.getByRole("button", { name: "Explain" }).click();
	await heading(page, "Not found");
});
