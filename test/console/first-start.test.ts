import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { api } from "../harness/client.ts";
import { ask, ours } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { invitation, login, PASSWORD, type Person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

async function start(): Promise<Server> {
	const server = await startServer({ env: { SVC_REGISTRATION_MODE: "admin" } });
	ends.defer(() => server.close());
	return server;
}

const codeOf = async (server: Server) => (await readFile(join(server.data, "setup-code"), "utf8")).trim();

for (const javaScriptEnabled of [true, false]) {
	const how = javaScriptEnabled ? "" : ", without JavaScript";
	test(`a new server is set up in the browser, up to its first secret${how}`, {
		skip: skipWithoutChromium,
	}, async () => {
		const server = await start();
		const browser = await startBrowser();
		ends.defer(() => browser.close());
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		await page.goto(server.url);
		await heading(page, "Set up this server");
		const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
		const passwords = async () => {
			await fill("Password", PASSWORD);
			await fill("The same password again", PASSWORD);
		};
		const make = () => page.getByRole("button", { name: "Make the account" }).click();
		await fill("E-mail", "ada@example.test");
		await fill("Your name", "Ada");
		await passwords();
		await fill("Setup code", "a guess");
		await make();
		await page.getByRole("alert").getByText("the first account needs the setup code").waitFor();
		assert.equal(await page.getByLabel("E-mail").inputValue(), "ada@example.test");
		assert.equal((await page.content()).includes(PASSWORD), false);
		await passwords();
		await fill("Setup code", await codeOf(server));
		await make();
		await heading(page, "Realms");
		await page.getByText("You have no realm yet").waitFor();
		await page.getByLabel("Slug").fill("garden");
		await page.getByLabel("Name", { exact: true }).fill("Garden");
		await page.getByRole("button", { name: "Make the realm" }).click();
		await heading(page, "garden");
		await fill("Key", "DB_URL");
		await page.getByRole("button", { name: "Go on" }).click();
		await page.getByRole("textbox", { name: "New value" }).fill("one");
		await page.getByRole("button", { name: "Write" }).click();
		await page.getByRole("status").getByText("Version 1 is written.").waitFor();

		const client = api(server);
		const ada = { email: "ada@example.test", password: PASSWORD };
		const token = await login(client, ada);
		const guest = await invitation(client, { ...ada, id: "", token } satisfies Person);
		await page.getByRole("button", { name: "Sign out" }).click();
		await page.getByRole("link", { name: "Make your account" }).click();
		await heading(page, "Make your account");
		await fill("E-mail", guest.email);
		await passwords();
		await fill("Code of your invitation", guest.code);
		await make();
		await heading(page, "Realms");
		await page.getByRole("link", { name: guest.email }).waitFor();
		assert.deepEqual(complaints, []);
		await close();
	});
}

test("making the first account cannot be forged, and nobody takes it twice", async () => {
	const server = await start();
	const setup_code = await codeOf(server);
	const form = { email: "eve@example.test", name: "", password: PASSWORD, again: PASSWORD, setup_code };
	const post = (headers: Record<string, string>, fields: Record<string, string>) =>
		ask(server, "POST", "/console/register", headers, fields);
	const right = ours(server);
	const forged = [{}, { ...right, origin: "https://evil.test" }, { ...right, "sec-fetch-site": "same-site" }];
	for (const headers of forged) assert.equal((await post(headers, form)).status, 403);
	const refused = await post(right, { ...form, setup_code: "x", email: '"><script>alert(1)</script>@example.test' });
	assert.deepEqual([refused.status >= 400, refused.headers["set-cookie"]], [true, undefined]);
	assert.match(refused.text, /value="&quot;&gt;&lt;script&gt;/);
	assert.equal((await post(right, { ...form, again: "another one" })).status, 400);
	const made = await post(right, form);
	assert.deepEqual([made.status, made.headers.location], [303, "/console"]);
	assert.match(String(made.headers["set-cookie"]), /^__Host-svc-session=/);
	const second = await post(right, { ...form, email: "mallory@example.test" });
	assert.deepEqual([second.status, second.headers["set-cookie"]], [409, undefined]);
	assert.equal((await post(right, { ...form, setup_code: "", email: "mallory@example.test" })).status, 403);
	const token = await login(api(server), { email: form.email, password: PASSWORD });
	assert.equal(ok(await api(server).get<{ users: unknown[] }>("/users", { token })).users.length, 1);
});
