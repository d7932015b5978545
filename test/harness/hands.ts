import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";

/** Tabs after which a control counts as one that cannot be reached. */
export const MAX_TABS = 80;

/** The name of a control, as a person reads it. */
const NAME = "(one) => (one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent ?? '').trim()";

/** Describes an element that has the focus: its name, and whether a person sees that it has it. */
export const FOCUS = `(one) => {
	const { outlineStyle, outlineWidth } = getComputedStyle(one);
	const { top, bottom, left, right } = one.getBoundingClientRect();
	const isInside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
	return { tag: one.tagName, name: (${NAME})(one), isSeen: isInside && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
}`;

/** An element with the focus, as a person finds it. */
interface Focused {
	readonly tag: string;
	readonly name: string;
}

/** Works at a page: by keyboard, or with a mouse. A control is found by its name. */
export interface Hands {
	/** Presses a link or a button, or opens details. */
	press(name: RegExp): Promise<void>;
	/** Ticks a box. */
	tick(name: RegExp): Promise<void>;
	/** Types over what a field contains. */
	type(name: RegExp, text: string): Promise<void>;
	/** Chooses the option that begins like this. */
	choose(name: RegExp, option: string): Promise<void>;
}

/** Elements of each kind of control. */
const PRESSED = ["A", "BUTTON", "SUMMARY"];
const FILLED = ["INPUT", "TEXTAREA"];
const CHOSEN = ["SELECT"];

/** Works at a page by keyboard alone. */
export function keyboardOf(page: Page): Hands {
	async function tabTo(name: RegExp, kind: readonly string[]): Promise<void> {
		for (let tabs = 0; tabs < MAX_TABS; tabs++) {
			const one = await page.evaluate<Focused>(`(${FOCUS})(document.activeElement)`);
			if (kind.includes(one.tag) && name.test(one.name)) return;
			await page.keyboard.press("Tab");
		}
		assert.fail(`Tab never reached ${name}`);
	}
	return {
		async press(name) {
			await tabTo(name, PRESSED);
			await page.keyboard.press("Enter");
		},
		async tick(name) {
			await tabTo(name, FILLED);
			await page.keyboard.press("Space");
		},
		async type(name, text) {
			await tabTo(name, FILLED);
			await page.keyboard.press("Control+a");
			await page.keyboard.type(text);
		},
		async choose(name, option) {
			await tabTo(name, CHOSEN);
			await page.keyboard.type(option);
		},
	};
}

/** Reads the names of the controls of a kind; empty where one is not seen. */
const namesOf = (page: Page, selector: string) =>
	page.evaluate<string[]>(
		`[...document.querySelectorAll("${selector}")].map((one) => (one.checkVisibility() ? (${NAME})(one) : ""))`,
	);

/** Works at a page with a mouse, and types into what it clicked. */
export function mouseOf(page: Page): Hands {
	async function find(name: RegExp, kind: readonly string[]): Promise<Locator> {
		const selector = kind.join().toLowerCase();
		const names = await namesOf(page, selector);
		const at = names.findIndex((one) => one !== "" && name.test(one));
		assert.notEqual(at, -1, `nothing is called ${name}: ${names.join(", ")}`);
		return page.locator(selector).nth(at);
	}
	return {
		press: async (name) => (await find(name, PRESSED)).click(),
		tick: async (name) => (await find(name, FILLED)).check(),
		type: async (name, text) => (await find(name, FILLED)).fill(text),
		async choose(name, option) {
			const select = await find(name, CHOSEN);
			const labels = await select.locator("option").allTextContents();
			const label = labels.find((one) => one.startsWith(option));
			assert.ok(label, `${name} has no ${option}`);
			await select.selectOption({ label });
		},
	};
}
