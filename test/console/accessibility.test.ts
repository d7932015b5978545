/* WCAG 2.2 AA on every page: axe-core in both colour schemes, and what axe does not see. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { endpointsOf } from "../../packages/server/src/console/endpoints.ts";
import { startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type ConsoleWorld, PAGES, startConsoleWorld, visitAll } from "../harness/console-world.ts";
import { focused, MAX_TABS } from "../harness/keyboard.ts";
import { makePasskey, signOut, takePasskeySeat } from "../harness/passkeys.ts";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
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
	const paths = PAGES.map(({ path }) => new URL(path("shop", "id"), "https://svc.test").pathname);
	const endpoints = endpointsOf({ server: {} } as never).filter(({ method }) => method === "GET");
	assert.ok(endpoints.length >= 8);
	for (const { path } of endpoints)
		assert.ok(
			paths.some((one) => path.test(one)),
			`no row for ${path}`,
		);
});

/** Returns axe's findings, each with the elements that it is about. */
function findings(page: Page): Promise<string[]> {
	return page.evaluate<string[]>(`axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) =>
		violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`);
}

/** Runs axe on a page, in both colour schemes. @returns the findings, named */
async function findingsIn(page: Page, name: string): Promise<string[]> {
	const found: string[] = [];
	await page.evaluate(axe.source);
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		found.push(...(await findings(page)).map((finding) => `${name}, ${colorScheme}: ${finding}`));
	}
	return found;
}

test("axe finds nothing on any page, light or dark", skip, async () => {
	const { page, complaints, close } = await takeSeat(browser);
	const found: string[] = [];
	await visitAll(page, world, async ({ name }) => void found.push(...(await findingsIn(page, name))));
	assert.deepEqual(found, []);
	assert.deepEqual(complaints, []);
	await close();
});

test(
	"axe finds nothing where somebody with a passkey signs in, and changes the factors or the password",
	skip,
	async () => {
		const seat = await takePasskeySeat({ ...world, root: world.admin, browser }, "with-a-passkey");
		const { page, who, complaints } = seat;
		const found: string[] = [];
		const look = async (name: string) => void found.push(...(await findingsIn(page, name)));
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

/** The distances of WCAG 1.4.12, as a person's own stylesheet sets them. */
const SPACING =
	"* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }";
const APPLY = `{ const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(SPACING)}); document.adoptedStyleSheets = [sheet]; }`;

test("no page is wider than the window at 320 and 640 pixels, with wide text, too", skip, async () => {
	const { page, close } = await takeSeat(browser);
	const assertFits = async (name: string) => {
		for (const width of [320, 640]) {
			await page.setViewportSize({ width, height: 800 });
			assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width, `${name} at ${width}`);
		}
	};
	await visitAll(page, world, async ({ name }) => {
		await assertFits(name);
		await page.evaluate(APPLY);
		await assertFits(`${name} with wide text`);
	});
	await close();
});

/** Finds controls that are smaller than 24 pixels (WCAG 2.5.8); links in text are exempt. */
const SMALL = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, nav a, .button")]
	.map((one) => [one, one.getBoundingClientRect()])
	.filter(([one, { width, height }]) => !one.hidden && (width < 24 || height < 24)).map(([one]) => one.outerHTML)`;

/** Counts the controls that can be reached: none within details that are closed. */
const CONTROLS = `[...document.querySelectorAll("a[href]:not([tabindex]), button:not([hidden]), input:not([type=hidden]), select, textarea")]
	.filter((one) => one.checkVisibility()).length`;

test("every control is large enough, can be reached with Tab, and shows that it has the focus", skip, async () => {
	const { page, close } = await takeSeat(browser);
	await visitAll(page, world, async ({ name }) => {
		assert.deepEqual(await page.evaluate(SMALL), [], name);
		const controls = await page.evaluate<number>(CONTROLS);
		// A reading page may begin with the focus in a field: the skip link is the first in order.
		await page.locator(".skip").focus();
		let reached = 1;
		for (let tabs = 0; tabs < MAX_TABS; tabs++) {
			await page.keyboard.press("Tab");
			const one = await focused(page);
			if (one.tag === "BODY") break;
			assert.ok(one.isSeen, `${name}: ${one.tag} ${one.name}`);
			reached += 1;
		}
		assert.ok(reached >= Math.min(controls, MAX_TABS), `${name}: ${reached} of ${controls}`);
	});
	await close();
});
