import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** Tabs after which a control counts as one that cannot be reached. */
export const MAX_TABS = 80;

/** Describes the focused element: what it is, and whether a person sees that it has the focus. */
const FOCUSED = `(() => {
	const one = document.activeElement;
	const { outlineStyle, outlineWidth } = getComputedStyle(one);
	const { top, bottom, left, right } = one.getBoundingClientRect();
	const isInside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
	return { tag: one.tagName, name: one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent,
		isSeen: one.tagName === "BODY" || (isInside && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) };
})()`;

/** The focused element, as a person finds it. */
export interface Focused {
	readonly tag: string;
	readonly name: string;
	readonly isSeen: boolean;
}

/** Reads which element has the focus. */
export function focused(page: Page): Promise<Focused> {
	return page.evaluate<Focused>(FOCUSED);
}

/** Hands on a keyboard, and no mouse. */
export interface Keyboard {
	/** Presses Tab until a control of this name has the focus. */
	tabTo(name: RegExp): Promise<void>;
	/** Goes to a control, and presses it. */
	press(name: RegExp, key?: string): Promise<void>;
	/** Goes to a field, and types over what it holds. */
	type(name: RegExp, text: string): Promise<void>;
	/** Goes to a choice, and types the beginning of an option. */
	choose(name: RegExp, option: string): Promise<void>;
}

/** Gives a page to somebody without a mouse. */
export function keyboardOf(page: Page): Keyboard {
	async function tabTo(name: RegExp): Promise<void> {
		for (let tabs = 0; tabs < MAX_TABS; tabs++) {
			const one = await focused(page);
			if (one.tag !== "BODY" && name.test(one.name.trim())) return;
			await page.keyboard.press("Tab");
		}
		assert.fail(`Tab never reached ${name}`);
	}
	return {
		tabTo,
		async press(name, key = "Enter") {
			await tabTo(name);
			await page.keyboard.press(key);
		},
		async type(name, text) {
			await tabTo(name);
			await page.keyboard.press("Control+a");
			await page.keyboard.type(text);
		},
		async choose(name, option) {
			await tabTo(name);
			await page.keyboard.type(option);
		},
	};
}
