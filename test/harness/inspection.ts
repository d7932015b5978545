import axe from "axe-core";
import type { Page } from "playwright-core";
import { FOCUS, MAX_TABS } from "./hands.ts";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const SIZE = { width: 1280, height: 800 };

/** Distances of WCAG 1.4.12, as a person's own stylesheet sets them. */
const SPACING =
	"* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }";

const styled = (text: string) =>
	`{ const sheet = new CSSStyleSheet(); sheet.replaceSync(${JSON.stringify(text)}); document.adoptedStyleSheets = [sheet]; }`;

/** Finds controls that are smaller than 24 pixels (WCAG 2.5.8); links in text are exempt. */
const SMALL = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, nav a, .button")]
	.map((one) => [one, one.getBoundingClientRect()])
	.filter(([one, { width, height }]) => one.checkVisibility() && (width < 24 || height < 24)).map(([one]) => one.outerHTML)`;

/** Finds what moves by itself: nothing may, so that nobody need ask for less motion. */
const MOVING = `[...document.querySelectorAll("*")].filter((one) => {
	const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(one);
	return animationName !== "none" || transitionDuration !== "0s" || scrollBehavior === "smooth";
}).map((one) => one.outerHTML)`;

/** Finds texts that leave their box or the window, or that lie on another one. What is kept off the window for those who listen is exempt. */
const COVERED = `(() => {
	const lines = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const { currentNode: node } = walker;
		const one = node.parentElement;
		if (node.textContent.trim() === "" || !one.checkVisibility() || one.closest("select, textarea, datalist, svg, option")) continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const { left, right, top, bottom } of range.getClientRects())
			if (right > 0 && right - left > 1) lines.push({ one, text: node.textContent.trim().slice(0, 60), left, right, top, bottom });
	}
	const found = [];
	for (const line of lines) {
		const box = line.one.closest("button, .button, td, th, pre, label, .box, .chart, main, header, footer, nav, p")?.getBoundingClientRect();
		// The space at the end of a line of a pre hangs.
		const slack = line.one.closest("pre") ? 16 : 1;
		const isOut = box && (line.left < box.left - 1 || line.right > box.right + slack || line.top < box.top - 4 || line.bottom > box.bottom + 4);
		if (isOut || line.right > innerWidth + slack) found.push("leaves its box: " + line.text);
		const { overflowX, overflowY } = getComputedStyle(line.one);
		if ((overflowX !== "visible" && line.one.scrollWidth > line.one.clientWidth + 1) || (overflowY !== "visible" && line.one.scrollHeight > line.one.clientHeight + 1))
			found.push("is cut: " + line.text);
	}
	lines.sort((one, other) => one.top - other.top);
	for (const [at, line] of lines.entries())
		for (const other of lines.slice(at + 1)) {
			if (other.top > line.bottom - 4) break;
			if (Math.min(line.right, other.right) - Math.max(line.left, other.left) > 3 && Math.min(line.bottom, other.bottom) - other.top > 4)
				found.push("lies on another: " + line.text + " / " + other.text);
		}
	return found;
})()`;

/** The controls that can be reached: none within details that are closed. */
const CONTROLS = `[...document.querySelectorAll("a[href]:not([tabindex]), button:not([hidden]), input:not([type=hidden]), select, textarea, summary")]
	.filter((one) => one.checkVisibility())`;

const WIDE = `document.documentElement.scrollWidth > innerWidth ? [document.documentElement.scrollWidth + " pixels wide"] : []`;

/** Returns axe's findings in the present colour scheme, each with the element that it is about. */
function axeFindings(page: Page): Promise<string[]> {
	return page.evaluate<string[]>(`axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) =>
		violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`);
}

/** Remembers what gets the focus, and whether a person sees that it has it. A reading page may begin with the focus in a field: the skip link is the first in order. */
const WALK = `(() => {
	const walked = window.walked = [];
	document.addEventListener("focusin", ({ target }) => walked.push({ target, ...(${FOCUS})(target) }));
	document.querySelector(".skip").focus();
	return ${CONTROLS}.length;
})()`;

/** Names the controls that had no focus, or none that is seen. */
const WALKED = `(() => {
	const controls = ${CONTROLS};
	const seen = new Set(window.walked.map(({ target }) => target));
	return [
		...controls.filter((one) => !seen.has(one)).map((one) => "never has the focus: " + one.outerHTML.slice(0, 120)),
		// The first one was not reached by keyboard.
		...window.walked.slice(1).filter(({ isSeen }) => !isSeen).map(({ target }) => "its focus is not seen: " + target.outerHTML.slice(0, 120)),
	];
})()`;

/** Goes through a page with Tab. */
async function walk(page: Page): Promise<string[]> {
	const controls = await page.evaluate<number>(WALK);
	// A field for a date has several parts.
	for (let tabs = 0; tabs < Math.min(controls + 12, MAX_TABS); tabs++) await page.keyboard.press("Tab");
	return controls > MAX_TABS - 12 ? [] : page.evaluate<string[]>(WALKED);
}

/** Looks at a page as it is: with axe in both colour schemes, then in windows of 320, 640 and 1280 pixels, with distances as people set them. @returns its findings */
export async function inspect(page: Page): Promise<string[]> {
	const found: string[] = [];
	const look = async (how: string, looking: Promise<string[]>) => {
		found.push(...(await looking).map((one) => `${how}: ${one}`));
	};
	await page.evaluate(axe.source);
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		await look(`axe, ${colorScheme}`, axeFindings(page));
	}
	await look("small", page.evaluate<string[]>(SMALL));
	await look("moves", page.evaluate<string[]>(MOVING));
	for (const width of [320, 640, 1280]) {
		await page.setViewportSize({ ...SIZE, width });
		for (const style of ["", SPACING]) {
			await page.evaluate(styled(style));
			const how = `${width}${style === "" ? "" : ", wide text"}`;
			await look(how, page.evaluate<string[]>(WIDE));
			await look(how, page.evaluate<string[]>(COVERED));
		}
	}
	await page.evaluate(styled(""));
	await look("Tab", walk(page));
	return [...new Set(found)];
}
