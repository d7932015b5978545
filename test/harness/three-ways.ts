import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { heading, startBrowser, takeSeat } from "./browser.ts";
import { skipWithoutChromium } from "./chromium.ts";
import { type ConsoleWorld, startConsoleWorld } from "./console-world.ts";
import type { Person } from "./fixtures.ts";
import { type Hands, keyboardOf, mouseOf } from "./hands.ts";

/** Somebody with an errand, in front of a browser. */
export interface Errand extends Hands {
	readonly world: ConsoleWorld;
	readonly page: Page;
	/** False where JavaScript is off. */
	readonly hasScript: boolean;
	/** Opens a page of the console and signs in: as the admin, unless it names somebody else. */
	begin(path: string, who?: Pick<Person, "email" | "password">): Promise<void>;
	/** Opens another page. */
	open(path: string): Promise<void>;
	/** Waits for the message that follows a change. */
	shown(text: RegExp): Promise<void>;
	/** Waits for the reason of a refusal. */
	refused(text: RegExp): Promise<void>;
	/** Waits for a page's heading. */
	at(name: string): Promise<void>;
	/** Waits for a text anywhere. */
	sees(text: RegExp | string): Promise<void>;
	/** Waits for a row of a table, by a text in it. */
	row(text: RegExp | string): Promise<void>;
}

/** Ways to do an errand. */
export const WAYS = [
	{ how: "by keyboard", hands: keyboardOf, javaScriptEnabled: true },
	{ how: "with a mouse", hands: mouseOf, javaScriptEnabled: true },
	{ how: "without JavaScript", hands: mouseOf, javaScriptEnabled: false },
] as const;

/** Starts a world and a browser for a file. @returns a function that tests an errand by keyboard, with a mouse, and without JavaScript */
export function startThreeWays(): (what: string, run: (errand: Errand) => Promise<void>) => void {
	let world: ConsoleWorld;
	let browser: Browser;
	const ends = new AsyncDisposableStack();
	before(async () => {
		if (skipWithoutChromium !== false) return;
		world = await startConsoleWorld();
		ends.defer(world.close);
		browser = await startBrowser();
		ends.defer(() => browser.close());
	});
	after(() => ends.disposeAsync());
	return (what, run) => {
		for (const { how, hands, javaScriptEnabled } of WAYS) {
			test(`${what}, ${how}`, { skip: skipWithoutChromium }, async () => {
				const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
				await run(errandOf(world, page, hands(page), javaScriptEnabled));
				assert.deepEqual(complaints, []);
				await close();
			});
		}
	};
}

function errandOf(world: ConsoleWorld, page: Page, hands: Hands, hasScript: boolean): Errand {
	const open = async (path: string) => {
		await page.goto(`${world.server.url}${path}`);
	};
	return {
		...{ ...hands, world, page, hasScript, open },
		async begin(path, { email, password } = world.admin) {
			await open(path);
			await hands.type(/^E-mail$/, email);
			await hands.type(/^Password$/, password);
			await page.keyboard.press("Enter");
			await page.getByRole("button", { name: "Sign out" }).waitFor();
		},
		shown: (text) => page.getByRole("status").getByText(text).waitFor(),
		refused: (text) => page.getByRole("alert").getByText(text).first().waitFor(),
		at: (name) => heading(page, name),
		sees: (text) => page.getByText(text).first().waitFor(),
		row: (text) => page.getByRole("row", { name: text }).first().waitFor(),
	};
}
