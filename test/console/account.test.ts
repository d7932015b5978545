import assert from "node:assert/strict";
import { heading } from "../harness/browser.ts";
import { startErrands } from "../harness/errand.ts";
import { ok } from "../harness/expect.ts";
import { login, sessionId, unique } from "../harness/fixtures.ts";

const errand = startErrands();

errand("somebody makes a token, copies it once, and ends it", async ({ client, page, ada, slug, shows }) => {
	const name = unique("deploy <b>");
	await page.getByRole("link", { name: ada.email }).click();
	await page.getByRole("link", { name: "Make a token" }).click();
	await heading(page, "New API token");
	await page.getByLabel("Name").fill(name);
	await page.getByRole("group", { name: "It may (only read, if you tick none)" }).waitFor();
	await page.getByLabel("Only in the realm").selectOption(slug);
	await page.getByLabel("Only the secrets of").selectOption("prod");
	await page.getByText("Only some roles of engines").click();
	await page.getByLabel("keyvalue:readonly").check();
	await page.getByLabel("It ends after").selectOption("30 days");
	await page.getByRole("button", { name: "Make the token" }).click();
	await shows(/\btoken\b.*\bmade\b/);
	const token = String(await page.locator("[data-value]").textContent()).trim();
	const whoami = () => client.get<{ scopes: string; environment: string }>("/auth/whoami", { token });
	const { scopes, environment } = ok(await whoami());
	assert.deepEqual([scopes, environment], ["read", "prod"]);

	await page.reload();
	await page.getByRole("button", { name: "Make the token" }).waitFor();
	assert.equal((await page.content()).includes(token), false, "a reload shows it no more");
	await page.getByRole("link", { name: "Your account" }).click();
	const limits = new RegExp(`realm ${slug}, prod, keyvalue:readonly`);
	assert.match(String(await page.getByRole("row", { name }).textContent()), limits);
	await page.getByRole("button", { name: `End the token ${name}` }).click();
	await shows(/\btoken\b.*\bended\b/);
	assert.equal((await whoami()).status, 401);
});

errand("Back does not show a new token again", async ({ page, shows, open }) => {
	await open("/account/token");
	await page.getByLabel("Name").fill("short");
	await page.getByRole("button", { name: "Make the token" }).click();
	await shows(/\btoken\b.*\bmade\b/);
	const token = String(await page.locator("[data-value]").textContent()).trim();
	await page.getByRole("link", { name: "Your tokens" }).click();
	await heading(page, "Your account");
	await page.goBack();
	await heading(page, "New API token");
	assert.equal((await page.content()).includes(token), false);
});

errand("somebody ends a session on another machine, and keeps this one", async ({ client, page, ada, open, shows }) => {
	const token = await login(client, ada);
	await open("/account");
	await page.getByRole("link", { name: "Where you are signed in" }).click();
	await heading(page, "Your sessions");
	const { sessions } = ok(await client.get<{ sessions: { current: boolean }[] }>("/auth/sessions", { token }));
	assert.equal(await page.getByRole("row").count(), sessions.length + 1);
	assert.equal(await page.getByText("this one", { exact: true }).count(), 1);
	const own = page.getByRole("row").filter({ hasText: "this one" });
	assert.match(String(await own.textContent()), /Chrome on Linux127\.0\.0\.1/);
	const isOpen = async (one: string) => (await client.get("/auth/whoami", { token: one })).status === 200;
	await page
		.locator("tr", { has: page.locator(`input[value="${sessionId(token)}"]`) })
		.getByRole("button")
		.click();
	await shows(/\bsession\b.*\bended\b/);
	assert.equal(await isOpen(token), false);
	assert.equal(await isOpen(ada.token), true);
});

errand("somebody sees how the account signs in, and that unlinking asks for the password", async ({ page, ada }) => {
	await page.getByRole("link", { name: ada.email }).click();
	await page.getByRole("link", { name: "Password and linked identities" }).click();
	await heading(page, "How you sign in");
	await page.getByRole("button", { name: "Change the password" }).waitFor();
	await page.getByText("None is linked.").waitFor();
});
