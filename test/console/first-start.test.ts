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
import { WAYS } from "../harness/three-ways.ts";
import { type Server, startServer } from "../harness.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

async function start(): Promise<Server> {
	const server = await startServer({ env: { SVC_REGISTRATION_MODE: "admin" } });
	ends.defer(() => server.close());
	return server;
}

const codeOf = async (server: Server) => (await readFile(join(server.data, "setup-code"), "utf8")).trim();

for (const { how, hands, javaScriptEnabled } of WAYS)
	test(`a new server is set up in the browser, up to its first secret, ${how}`, {
		skip: skipWithoutChromium,
	}, async () => {
		const server = await start();
		const browser = await startBrowser();
		ends.defer(() => browser.close());
		const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
		const { press, type } = hands(page);
		await page.goto(server.url);
		await heading(page, "Set up this server");
		const passwords = async () => {
			await type(/^Password$/, PASSWORD);
			await type(/^The same password again$/, PASSWORD);
		};
		await type(/^E-mail$/, "ada@example.test");
		await type(/^Your name$/, "Ada");
		await passwords();
		await type(/^Setup code$/, "a guess");
		await press(/^Make the account$/);
		await page.getByRole("alert").getByText("the first account needs the setup code").waitFor();
		assert.equal(await page.getByLabel("E-mail").inputValue(), "ada@example.test");
		assert.equal((await page.content()).includes(PASSWORD), false);
		await passwords();
		await type(/^Setup code$/, await codeOf(server));
		await press(/^Make the account$/);
		await heading(page, "Realms");
		await page.getByText("You have no realm yet").waitFor();
		await type(/^Slug/, "garden");
		await type(/^Name$/, "Garden");
		await press(/^Make the realm$/);
		await heading(page, "garden");
		await type(/^Key$/, "DB_URL");
		await press(/^Go on$/);
		await heading(page, "DB_URL in dev");
		await type(/^New value$/, "one");
		await press(/^Write$/);
		await page.getByRole("status").getByText("Version 1 is written.").waitFor();

		const client = api(server);
		const ada = { email: "ada@example.test", password: PASSWORD };
		const token = await login(client, ada);
		const guest = await invitation(client, { ...ada, id: "", token } satisfies Person);
		await press(/^Sign out$/);
		await heading(page, "Sign in");
		await press(/^Make your account$/);
		await heading(page, "Make your account");
		await type(/^E-mail$/, guest.email);
		await passwords();
		await type(/^Code of your invitation$/, guest.code);
		await press(/^Make the account$/);
		await heading(page, "Realms");
		await page.getByRole("link", { name: guest.email }).waitFor();
		assert.deepEqual(complaints, []);
		await close();
	});

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
