/* WCAG 2.2 AA on every page of the admin: axe-core in both colour schemes, and what axe does not see. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { endpointsOf } from "../../packages/server/src/console/endpoints.ts";
import { startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type ConsoleWorld, PAGES, startConsoleWorld, visitAll } from "../harness/console-world.ts";
import { inspect } from "../harness/inspection.ts";
import { makePasskey, signOut, takePasskeySeat } from "../harness/passkeys.ts";

const skip = { skip: skipWithoutChromium };

const ends = new AsyncDisposableStack();
let world: ConsoleWorld;
let browser: Browser;

before(async () => {
	if (skipWithoutChromium !== false) return;
	world = await startConsoleWorld();
	ends.defer(world.close);
	browser = await startBrowser({ isWhole: true });
	ends.defer(() => browser.close());
});
after(() => ends.disposeAsync());

test("the list of pages has every page of the server", () => {
	const ids = { lease: "id", person: "id", session: "id", token: "id" };
	const paths = PAGES.map(({ path }) => new URL(path("shop", ids), "https://svc.test").pathname);
	const endpoints = endpointsOf({ server: {} } as never).filter(({ method }) => method === "GET");
	assert.ok(endpoints.length >= 8);
	for (const { path } of endpoints)
		assert.ok(
			paths.some((one) => path.test(one)),
			`no row for ${path}`,
		);
});

test(
	"no page has a finding, in any colour scheme, width and spacing, or by Tab, and none complains",
	skip,
	async () => {
		const { page, complaints, close } = await takeSeat(browser);
		const found: string[] = [];
		await visitAll(page, world, async ({ name }) => {
			found.push(...(await inspect(page)).map((finding) => `${name}: ${finding}`));
		});
		assert.deepEqual(found, []);
		assert.deepEqual(complaints, []);
		await close();
	},
);

test(
	"no page has a finding where somebody with a passkey signs in, and changes the factors or the password",
	skip,
	async () => {
		const seat = await takePasskeySeat({ ...world, root: world.admin, browser }, "with-a-passkey");
		const { page, who, complaints } = seat;
		const found: string[] = [];
		const look = async (name: string) => {
			found.push(...(await inspect(page)).map((finding) => `${name}: ${finding}`));
		};
		await makePasskey(seat);
		await look("recovery codes");
		await page.reload();
		await page.getByText("Remove", { exact: true }).click();
		await look("factors");
		await page.goto(`${world.server.url}/console/account/identities`);
		await page.getByRole("button", { name: "Use a passkey in place of the code" }).waitFor();
		await look("password");
		await signOut(seat);
		await page.getByLabel("E-mail").fill(who.email);
		await page.getByLabel("Password").first().fill(who.password);
		await page.getByRole("button", { name: "Sign in", exact: true }).click();
		await page.getByLabel("Code of your authenticator app").waitFor();
		await look("code");
		assert.deepEqual(found, []);
		assert.deepEqual(complaints, []);
		await seat.close();
	},
);
