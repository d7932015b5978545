import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { startBrowser, takeSeat } from "../test/harness/browser.ts";
import { startConsoleWorld, visitAll } from "../test/harness/console-world.ts";

/** `npm run pictures`: pictures of every page of the console in `.cache/pictures/`, light and dark, wide and narrow, to look at. */
const folder = resolve(import.meta.dirname, "../.cache/pictures");
const WIDTHS = { wide: 1280, narrow: 360 };

mkdirSync(folder, { recursive: true });
const ends = new AsyncDisposableStack();
try {
	const world = await startConsoleWorld();
	ends.defer(world.close);
	const browser = await startBrowser();
	ends.defer(() => browser.close());
	for (const [form, width] of Object.entries(WIDTHS)) {
		const { page, close } = await takeSeat(browser, { width });
		await page.emulateMedia({ reducedMotion: "reduce" });
		await visitAll(page, world, async ({ name }) => {
			for (const colorScheme of ["light", "dark"] as const) {
				await page.emulateMedia({ colorScheme });
				await page.screenshot({ path: join(folder, `${name}-${form}-${colorScheme}.png`), fullPage: true });
			}
		});
		await close();
	}
	process.stdout.write(`pictures in ${folder}\n`);
} finally {
	await ends.disposeAsync();
}
