import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { squaresOf } from "../../packages/server/src/console/qr-code.ts";
import { heading } from "../harness/browser.ts";
import { type Desk, startErrands } from "../harness/errand.ts";
import { ok, refused } from "../harness/expect.ts";
import { nextCode } from "../harness/totp.ts";

const errand = startErrands();

errand("somebody adds an authenticator app, signs in with its code, and with a recovery code", async (desk) => {
	const { client, page, ada, shows, open } = desk;
	await open("/account");
	await page.getByRole("link", { name: "Second factor" }).click();
	await heading(page, "Second factor");
	await page.getByLabel("Password of your account").first().fill(ada.password);
	const shown = page.waitForResponse((answer) => answer.url().endsWith("shown=secret"));
	await page.getByRole("button", { name: "Show the QR code" }).click();
	assert.equal((await shown).headers().refresh, "300", "a forgotten window does not keep it");
	await shows("Confirm the app with its first code.");
	const link = String(await page.locator("#app-link").textContent());
	const secret = String(await page.locator("#once-text").textContent()).trim();
	assert.match(link, /^otpauth:\/\/totp\//);
	const picture = page.getByRole("img", { name: "QR code" });
	assert.deepEqual(await drawn(picture), squaresOf(link));
	await page.getByLabel("First code of the app").fill(await nextCode(secret));
	await page.getByRole("button", { name: "Confirm" }).click();
	await shows(/\bConfirmed\b/);
	const codes = String(await page.locator("[data-value]").textContent())
		.trim()
		.split("\n");
	assert.equal(codes.length, 10);
	await page.reload();
	await page.getByText("Left: 10.").waitFor();
	const content = await page.content();
	assert.equal(
		[secret, ...codes].some((text) => content.includes(text)),
		false,
		"a reload shows them no more",
	);
	assert.equal(await page.locator("svg.qr").count(), 0);
	refused(await client.get("/auth/whoami", { token: ada.token }), 401);

	await signInWith(desk, await nextCode(secret));
	await signInWith(desk, codes[0] ?? "");

	await open("/account/factors");
	await page.getByText("Left: 9.").waitFor();
	await page.getByText("Remove", { exact: true }).click();
	const row = page.getByRole("row", { name: "Authenticator app" });
	await row.getByLabel("Password").fill(ada.password);
	await row.getByLabel("Code").fill(codes[1] ?? "");
	await row.getByRole("button", { name: "Remove the app" }).click();
	await shows(/\bremoved\b/);
	ok(await client.post("/auth/login", { email: ada.email, password: ada.password }));
});

errand("Back does not show a new secret or its QR code again", async ({ page, ada, open }) => {
	await open("/account/factors");
	await page.getByLabel("Password of your account").first().fill(ada.password);
	await page.getByRole("button", { name: "Show the QR code" }).click();
	const secret = String(await page.locator("#once-text").textContent()).trim();
	await page.getByRole("link", { name: "Realms" }).click();
	await heading(page, "Realms");
	await page.goBack();
	await heading(page, "Second factor");
	assert.equal((await page.content()).includes(secret), false);
	assert.equal(await page.locator("[data-qr]").count(), 0);
});

errand(
	"somebody changes the password, which ends the other sessions and not this one",
	async ({ client, page, ada, shows, open }) => {
		await open("/account/identities");
		const change = async (current: string, typed: string, again = typed) => {
			await page.getByLabel("Current password").fill(current);
			await page.getByLabel("New password").fill(typed);
			await page.getByLabel("The same password again").fill(again);
			await page.getByRole("button", { name: "Change the password" }).click();
		};
		const password = `another ${ada.password}`;
		await change(ada.password, password, `${password} mistyped`);
		await page.getByRole("alert").getByText("the two passwords differ").waitFor();
		await change("a wrong password", password);
		await page.getByRole("alert").getByText("wrong").waitFor();
		ok(await client.post("/auth/login", { email: ada.email, password: ada.password }));
		await open("/account/identities");
		await change(ada.password, password);
		await shows(/\bchanged\b/);
		refused(await client.get("/auth/whoami", { token: ada.token }), 401);
		ok(await client.post("/auth/login", { email: ada.email, password }));
		await open("/account");
		await heading(page, "Your account");
	},
);

/** Reads the squares of a drawn code back: true is dark. */
async function drawn(picture: Locator): Promise<boolean[][]> {
	const side = Number((await picture.getAttribute("viewBox"))?.split(" ")[2]) - 8;
	const rows = Array.from({ length: side }, () => Array.from({ length: side }, () => false));
	const path = String(await picture.locator("path").getAttribute("d"));
	for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g))
		rows[Number(y) - 4]?.fill(true, Number(x) - 4, Number(x) - 4 + Number(length));
	return rows;
}

async function signInWith({ page, ada }: Desk, code: string): Promise<void> {
	const submit = async () => {
		await page.getByLabel("Password").first().fill(ada.password);
		await page.getByRole("button", { name: "Sign in", exact: true }).click();
	};
	await page.getByRole("button", { name: "Sign out" }).click();
	await page.getByLabel("E-mail").fill(ada.email);
	await submit();
	await page.getByText("your account has a second factor").waitFor();
	assert.equal((await page.content()).includes(ada.password), false, "the page keeps no password");
	await page.getByLabel("Code of your authenticator app").fill("000000");
	await submit();
	await page.getByText("the code is wrong").waitFor();
	await page.getByLabel("Code of your authenticator app").fill(code);
	await submit();
	await page.getByRole("button", { name: "Sign out" }).waitFor();
}
