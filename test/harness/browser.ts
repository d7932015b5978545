import assert from "node:assert/strict";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Server } from "../harness.ts";
import { CHROMIUM, WHOLE_CHROMIUM } from "./chromium.ts";
import type { Person } from "./fixtures.ts";

/** Milliseconds in which a page must show what a test waits for. */
const PATIENCE_MS = 30_000;

/** Starts the installed browser: no sandbox (root has none in a container), no host but this machine, and Back with the page cache on. */
export function startBrowser({ isWhole = false } = {}): Promise<Browser> {
	const executablePath = isWhole ? WHOLE_CHROMIUM : CHROMIUM;
	return chromium.launch({
		...(executablePath === undefined ? {} : { executablePath }),
		chromiumSandbox: false,
		args: [
			"--disable-gpu",
			"--disable-dev-shm-usage",
			"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
		],
		ignoreDefaultArgs: ["--disable-back-forward-cache"],
	});
}

/** Somebody's browser: its pages, and what it complained about. */
export interface Seat {
	readonly context: BrowserContext;
	readonly page: Page;
	/** Errors of scripts and refusals of the page's policy. */
	readonly complaints: string[];
	close(): Promise<void>;
}

/** Gives somebody a browser without a session. */
export async function takeSeat(browser: Browser, { javaScriptEnabled = true, width = 1280 } = {}): Promise<Seat> {
	const viewport = { width, height: 800 };
	const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled, viewport });
	context.setDefaultTimeout(PATIENCE_MS);
	if (javaScriptEnabled) await context.grantPermissions(["clipboard-read", "clipboard-write"]);
	const complaints: string[] = [];
	const page = await context.newPage();
	page.on("pageerror", (error) => complaints.push(error.message));
	page.on("console", (message) => {
		// An answer of 4xx is one, too.
		if (message.type() === "error" && !/the server responded with a status of 4/.test(message.text()))
			complaints.push(message.text());
	});
	return { context, page, complaints, close: () => context.close() };
}

/** Opens a page of the console and signs in. */
export async function signIn(page: Page, server: Server, who: Person, path = "/console"): Promise<void> {
	await page.goto(`${server.url}${path}`);
	await page.getByLabel("E-mail").fill(who.email);
	await page.getByLabel("Password").first().fill(who.password);
	await page.getByRole("button", { name: "Sign in", exact: true }).click();
	await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** Waits for a page's heading. */
export async function heading(page: Page, name: string): Promise<void> {
	await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
	assert.equal(await page.title(), `${name} · svc`);
}
