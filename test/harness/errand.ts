import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type Server, startServer } from "../harness.ts";
import { signIn, startBrowser, takeSeat } from "./browser.ts";
import { skipWithoutChromium } from "./chromium.ts";
import { type Api, api } from "./client.ts";
import { type Person, person, realm } from "./fixtures.ts";

/** Desk of an errand: somebody who owns a realm, and has the console open. */
export interface Desk {
	readonly server: Server;
	readonly client: Api;
	readonly page: Page;
	readonly ada: Person;
	readonly slug: string;
	/** Opens a page of the console, signed in. */
	open(path: string): Promise<void>;
	/** Waits for the message that follows a change. @param words enough to distinguish it */
	shows(words: RegExp | string): Promise<void>;
}

/** Starts a server and a browser for a file. @returns a function that tests an errand twice: with JavaScript and without */
export function startErrands(): (what: string, run: (desk: Desk) => Promise<void>) => void {
	let server: Server;
	let browser: Browser;
	const ends = new AsyncDisposableStack();
	before(async () => {
		if (skipWithoutChromium !== false) return;
		server = await startServer();
		ends.defer(() => server.close());
		browser = await startBrowser();
		ends.defer(() => browser.close());
	});
	after(() => ends.disposeAsync());
	return (what, run) => {
		for (const javaScriptEnabled of [true, false]) {
			const how = javaScriptEnabled ? "" : ", without JavaScript";
			test(`${what}${how}`, { skip: skipWithoutChromium }, async () => {
				const { page, complaints, close } = await takeSeat(browser, { javaScriptEnabled });
				await run(await deskOf(server, page));
				assert.deepEqual(complaints, []);
				await close();
			});
		}
	};
}

async function deskOf(server: Server, page: Page): Promise<Desk> {
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "shop");
	await signIn(page, server, ada);
	return {
		...{ server, client, page, ada, slug },
		open: async (path) => {
			await page.goto(`${server.url}/console${path}`);
		},
		shows: (words) => page.getByRole("status").filter({ hasText: words }).waitFor(),
	};
}
