/* WCAG 2.2 AA on every page: axe-core in both colour schemes, and what axe does not see. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { endpointsOf } from "../../packages/server/src/console/endpoints.ts";
import { heading, startBrowser, takeSeat } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { type ConsoleWorld, PAGES, startConsoleWorld, visitAll } from "../harness/console-world.ts";
import { makePasskey, signOut, takePasskeySeat } from "../harness/passkeys.ts";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const MAX_TABS = 80;
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

for (const colorScheme of ["light", "dark"] as const) {
	test(`axe finds nothing on any page, ${colorScheme}`, skip, async () => {
		const { page, complaints, close } = await takeSeat(browser);
		await page.emulateMedia({ colorScheme });
		const found: string[] = [];
		await visitAll(page, world, async ({ name }) => {
			await page.evaluate(axe.source);
			found.push(...(await findings(page)).map((finding) => `${name}: ${finding}`));
		});
		assert.deepEqual(found, []);
		assert.deepEqual(complaints, []);
		await close();
	});
}

test(
	"axe finds nothing where somebody with a passkey signs in, and changes the factors or the password",
	skip,
	async () => {
		const seat = await takePasskeySeat({ ...world, root: world.admin, browser }, "with-a-passkey");
		const { page, who, complaints } = seat;
		const found: string[] = [];
		const look = async (name: string) => {
			await page.evaluate(axe.source);
			for (const colorScheme of ["light", "dark"] as const) {
				await page.emulateMedia({ colorScheme });
				found.push(...(await findings(page)).map((finding) => `${name}, ${colorScheme}: ${finding}`));
			}
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

/** The distances of WCAG 1.4.12, as a person's own stylesheet sets them. */
const SPACING =
	"* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }";
const APPLY = `{ const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(SPACING)}); document.adoptedStyleSheets = [sheet]; }`;

test("no page is wider than the window at 320 and 640 pixels, with wide text, too", skip, async () => {
	for (const width of [320, 640]) {
		const { page, close } = await takeSeat(browser, { width });
		await visitAll(page, world, async ({ name }) => {
			const wide = () => page.evaluate("document.documentElement.scrollWidth");
			assert.equal(await wide(), width, name);
			await page.evaluate(APPLY);
			assert.equal(await wide(), width, `${name} with wide text`);
		});
		await close();
	}
});

/** Finds controls that are smaller than 24 pixels (WCAG 2.5.8); links in text are exempt. */
const SMALL = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, nav a, .button")]
	.map((one) => [one, one.getBoundingClientRect()])
	.filter(([one, { width, height }]) => !one.hidden && (width < 24 || height < 24)).map(([one]) => one.outerHTML)`;

/** Counts the controls that can be reached: none within details that are closed. */
const CONTROLS = `[...document.querySelectorAll("a[href]:not([tabindex]), button:not([hidden]), input:not([type=hidden]), select, textarea")]
	.filter((one) => one.checkVisibility()).length`;

/** Describes the focused element: what it is, and whether a person sees that it has the focus. */
const FOCUSED = `(() => {
	const one = document.activeElement;
	const { outlineStyle, outlineWidth } = getComputedStyle(one);
	const { top, bottom, left, right } = one.getBoundingClientRect();
	const isInside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
	return { tag: one.tagName, name: one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent,
		isSeen: one.tagName === "BODY" || (isInside && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) };
})()`;

interface Focused {
	readonly tag: string;
	readonly name: string;
	readonly isSeen: boolean;
}

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
			const focused = await page.evaluate<Focused>(FOCUSED);
			if (focused.tag === "BODY") break;
			assert.ok(focused.isSeen, `${name}: ${focused.tag} ${focused.name}`);
			reached += 1;
		}
		assert.ok(reached >= Math.min(controls, MAX_TABS), `${name}: ${reached} of ${controls}`);
	});
	await close();
});

/** Presses Tab until the control has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
	for (let tabs = 0; tabs < MAX_TABS; tabs++) {
		const focused = await page.evaluate<Focused>(FOCUSED);
		if (name.test(focused.name) && focused.tag !== "BODY") return;
		await page.keyboard.press("Tab");
	}
	assert.fail(`Tab never reached ${name}`);
}

test("somebody signs in, finds a key and reveals it, by keyboard alone", skip, async () => {
	const { page, complaints, close } = await takeSeat(browser);
	const press = async (name: RegExp, keys = "Enter") => {
		await tabTo(page, name);
		await page.keyboard.press(keys);
	};
	await page.goto(`${world.server.url}/console`);
	await tabTo(page, /^E-mail$/);
	await page.keyboard.type(world.admin.email);
	await tabTo(page, /^Password$/);
	await page.keyboard.type(world.admin.password);
	await page.keyboard.press("Enter");
	await heading(page, "Realms");
	await press(/^Skip to the page$/);
	await press(new RegExp(`^${world.slug}$`));
	await heading(page, world.slug);
	await tabTo(page, /^Find a key$/);
	await page.keyboard.type("db_url");
	await page.keyboard.press("Enter");
	await page.getByText("1 key, with").waitFor();
	await press(/^payments\/DB_URL$/);
	await heading(page, "payments/DB_URL in dev");
	await press(/^Reveal$/);
	await page.getByText("postgres://payments@db.dev.internal").waitFor();
	assert.deepEqual(complaints, []);
	await close();
});

test(
	"somebody writes a version, goes back to the one before, ends a lease and signs out, by keyboard alone",
	skip,
	async () => {
		await world.write("TYPED", "one", "dev");
		const { page, complaints, close } = await takeSeat(browser);
		const press = async (name: RegExp) => {
			await tabTo(page, name);
			await page.keyboard.press("Enter");
		};
		const type = async (name: RegExp, text: string) => {
			await tabTo(page, name);
			await page.keyboard.type(text);
		};
		const shows = (text: RegExp) => page.getByRole("status").getByText(text).waitFor();
		const realm = `/console/realms/${world.slug}`;
		await page.goto(`${world.server.url}${realm}/secrets/TYPED?env=dev`);
		await type(/^E-mail$/, world.admin.email);
		await type(/^Password$/, world.admin.password);
		await page.keyboard.press("Enter");
		await heading(page, "TYPED in dev");
		await type(/^New value$/, "two");
		await type(/^Comment/, "typed");
		await press(/^Write$/);
		await shows(/Version 2 is written/);
		await press(/^Roll back to version 1$/);
		await shows(/as version 3/);
		await press(/^Leases$/);
		await heading(page, `Leases of ${world.slug}`);
		await press(/^End now: /);
		await shows(/The credential is gone/);
		await press(/^Sign out$/);
		await heading(page, "Sign in");
		assert.deepEqual(complaints, []);
		await close();
	},
);
