/* Passkeys in a real browser, with Chromium's own authenticator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "../../packages/server/src/doctor/model.ts";
import { heading, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { api } from "../harness/client.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { login, person } from "../harness/fixtures.ts";
import {
	isIn,
	isRefused,
	makePasskey,
	signOut,
	startPasskeyServer,
	startPasskeys,
	takePasskeySeat,
	usePasskey,
} from "../harness/passkeys.ts";
import { honest, startFakeLdap } from "../peers/ldap-fake.ts";

const { at, world } = startPasskeys();
const options = { skip: skipWithoutChromium };

at("somebody makes a passkey, signs in with it alone, and removes it with it in place of a code", async (seat) => {
	const { server, client, root, page, who, complaints } = seat;
	const codes = await makePasskey(seat);
	assert.equal(new Set(codes).size, 10);
	refused(await client.get("/auth/whoami", { token: who.token }), 401);
	refused(
		await client.post("/auth/login", { email: who.email, password: who.password }),
		401,
		"second_factor_required",
	);
	await signOut(seat);
	await page.getByRole("link", { name: "Sign in with a passkey" }).click();
	await page.getByRole("button", { name: "Use a passkey" }).click();
	await isIn(seat);
	const [login] = await events(client, root, `type=auth.login&actor=${who.id}`);
	assert.deepEqual([login?.data.method, login?.data.factor], ["passkey", "passkey"]);

	await page.goto(`${server.url}/console/account/factors`);
	const row = page.getByRole("row", { name: "Passkey laptop" });
	await row.getByText("signs in", { exact: true }).waitFor();
	await row.getByText("Remove", { exact: true }).click();
	await row.getByLabel("Password").fill(who.password);
	await row.getByRole("button", { name: "Use a passkey in place of the code" }).click();
	await page.getByRole("status").getByText("The second factor is removed.").waitFor();
	ok(await client.post("/auth/login", { email: who.email, password: who.password }));
	assert.deepEqual(complaints, []);
});

at("a passkey stands in for the code when somebody changes the password, and unlinks an identity", async (seat) => {
	const { server, client, root, page, who, complaints } = seat;
	const directory = await startFakeLdap(honest);
	const config = { url: directory.url, ca_cert: directory.ca, user_base_dn: "ou=people,dc=test" };
	ok(await client.put("/auth/providers/corp", { type: "ldap", config }, { token: root.token }));
	const link = { username: "alice", password: "whatever", current_password: who.password };
	ok(await client.post("/auth/ldap/corp/link", link, { token: who.token }));
	await makePasskey(seat);
	await page.goto(`${server.url}/console/account/identities`);
	const form = page.locator("form").filter({ has: page.getByLabel("Current password") });
	const password = `another ${who.password}`;
	await form.getByLabel("Current password").fill(who.password);
	await form.getByLabel("New password").fill(password);
	await form.getByLabel("The same password again").fill(password);
	await form.getByRole("button", { name: "Use a passkey in place of the code" }).click();
	await page.getByRole("status").getByText("The password is changed").waitFor();
	refused(await client.post("/auth/login", { email: who.email, password }), 401, "second_factor_required");

	const row = page.getByRole("row", { name: "corp" });
	await row.getByLabel("Your password, to unlink corp").fill(password);
	await row.getByRole("button", { name: "Use a passkey in place of the code" }).click();
	await page.getByText("None is linked.").waitFor();
	await directory.stop();
	assert.deepEqual(complaints, []);
});

at("a secret leaves the page with its QR code when the page is hidden", async ({ server, page, who }) => {
	await page.goto(`${server.url}/console/account/factors`);
	await page.getByLabel("Password of your account").first().fill(who.password);
	await page.getByRole("button", { name: "Show the QR code" }).click();
	await page.getByRole("img", { name: "QR code" }).waitFor();
	await page.evaluate(`dispatchEvent(new Event("pagehide"))`);
	assert.equal(await page.locator("[data-value], [data-qr]").count(), 0);
});

at("a device that already has a passkey for the account makes no second one", async (seat) => {
	const { server, page, who } = seat;
	const [code = ""] = await makePasskey(seat);
	await page.goto(`${server.url}/console/account/factors`);
	const form = page.locator("form").filter({ has: page.getByLabel("Name of the passkey") });
	await form.getByLabel("Name of the passkey").fill("again");
	await form.getByLabel("Password of your account").fill(who.password);
	await form.getByLabel("Code of your app").fill(code);
	await form.getByRole("button", { name: "Go on" }).click();
	await page.getByRole("button", { name: "Make the passkey now" }).click();
	await page.getByRole("status").getByText("has a passkey of your account already").waitFor();
});

at("using a copy of a passkey disables both, and the owner is warned", async (seat) => {
	const { server, client, root, who } = seat;
	const [code = "", other = ""] = await makePasskey(seat);
	const [copy] = await seat.credentials();
	assert.ok(copy !== undefined);
	for (let count = 0; count < 2; count++) {
		await signOut(seat);
		await usePasskey(seat);
		await isIn(seat);
	}
	await signOut(seat);
	await seat.replace(copy);
	await usePasskey(seat);
	await isRefused(seat, "a copy of this passkey exists, so it is disabled");
	const [ended] = await events(client, root, `type=auth.factor.disabled&actor=${who.id}`);
	assert.deepEqual([typeof ended?.data.factor_id, /factor\//.test(ended?.rows ?? "")], ["string", true]);
	await usePasskey(seat);
	await isRefused(seat, "the passkey was not accepted");
	refused(
		await client.post("/auth/login", { email: who.email, password: who.password }),
		401,
		"second_factor_required",
	);
	const { token } = ok(
		await client.post<{ token: string }>("/auth/login", { email: who.email, password: who.password, code }),
	);
	const { factors } = ok(await client.get<{ factors: { disabled: boolean }[] }>("/auth/factors", { token }));
	assert.deepEqual(
		factors.map(({ disabled }) => disabled),
		[true],
	);
	const typed = { email: who.email, password: who.password, code: other };
	const { headers } = await ask(server, "POST", "/console/sign-in", ours(server), typed);
	const cookie = headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
	const { text } = await ask(server, "GET", "/console/account", { cookie });
	assert.match(text, /role="alert">[^<]*\blaptop\b/);
});

test("without JavaScript the pages say why there is no passkey", options, async () => {
	const { server, client, browser } = world();
	const ada = await person(client, "ada");
	const { page, close } = await takeSeat(browser, { javaScriptEnabled: false });
	await page.goto(`${server.url}/console/sign-in/passkey`);
	await page.getByText("Passkeys need JavaScript").waitFor();
	assert.equal(await page.getByRole("button", { name: "Use a passkey" }).isVisible(), false);
	await page.getByRole("link", { name: "Sign in another way" }).click();
	await page.getByLabel("E-mail").fill(ada.email);
	await page.getByLabel("Password").first().fill(ada.password);
	await page.getByRole("button", { name: "Sign in", exact: true }).click();
	await page.goto(`${server.url}/console/account/factors`);
	await page.getByText("Passkeys need JavaScript").waitFor();
	await close();
});

test(
	"where a second factor is required a passkey is one; at an IP address there is none, and doctor names lost ones",
	options,
	async (t) => {
		const server = await startPasskeyServer();
		t.after(() => server.close());
		const client = api(server);
		const root = await person(client, "root");
		await server.restart({ SVC_AUTH_SECOND_FACTOR: "all" });
		const seat = await takePasskeySeat({ ...world(), server, client, root }, "ada");
		await heading(seat.page, "Second factor");
		await makePasskey(seat);
		await seat.page.goto(`${server.url}/console`);
		await heading(seat.page, "Realms");
		await seat.close();

		const { port } = new URL(server.url);
		await server.restart({ SVC_AUTH_SECOND_FACTOR: "off", SVC_BASE_URL: `https://127.0.0.1:${port}` });
		const { checks } = ok(await client.get<{ checks: Check[] }>("/doctor", { token: await login(client, root) }));
		const found = checks.find(({ name }) => name === "passkeys");
		assert.deepEqual([found?.status, /passkeys for localhost/.test(found?.message ?? "")], ["warning", true]);
		const session = await enter(server, root);
		const path = "/console/account/factors";
		const page = await ask(server, "GET", path, session);
		assert.doesNotMatch(page.text, /name="action" value="add-passkey"/);
		assert.doesNotMatch((await ask(server, "GET", "/console/sign-in")).text, /sign-in\/passkey/);
		const form_token = await tokenOf(server, session);
		const form = { action: "add-passkey", name: "x", current_password: root.password, form_token };
		assert.equal((await ask(server, "POST", path, { ...ours(server), ...session }, form)).status, 400);
	},
);
