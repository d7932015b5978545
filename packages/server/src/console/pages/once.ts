import type { System } from "../../system.ts";
import { type Html, html } from "../html.ts";
import type { Notes, Visit } from "../page.ts";

/** Seconds for which a token or code that is shown once stays on its page. */
export const ONCE_SECONDS = 300;

/** Milliseconds within which the page after a form must be asked for. */
const WAIT_MS = 30_000;

/** Keeps a text for the session's next page, if that is the page of this target; else it is forgotten. */
export function keepOnce(notes: Notes, system: Pick<System, "now">, target: string, text: string): void {
	notes.once = { target, text, until: system.now().getTime() + WAIT_MS };
}

/** Takes the text that this page may show now; a second request shows nothing. */
export function takeOnce({ once, notes }: Visit, system: Pick<System, "now">, target: string): string | undefined {
	if (once === undefined || once.target !== target || once.until < system.now().getTime()) return undefined;
	notes.hasShown = true;
	return once.text;
}

/** Keeps a text so that the page of this target can show it again while its first showing would last. */
export function keepWaiting(notes: Notes, system: Pick<System, "now">, target: string, text: string): void {
	notes.waiting = { target, text, until: system.now().getTime() + ONCE_SECONDS * 1000, isAsked: false };
}

/** Lets the next page of the target show the text again: what was asked for it was refused. */
export function askForWaiting({ waiting }: Notes): void {
	if (waiting !== undefined) waiting.isAsked = true;
}

/** Takes the text that was asked for again. */
export function takeWaiting({ notes }: Visit, system: Pick<System, "now">, target: string): string | undefined {
	const { waiting } = notes;
	if (waiting?.target !== target || !waiting.isAsked || waiting.until < system.now().getTime()) return undefined;
	waiting.isAsked = false;
	notes.hasShown = true;
	return waiting.text;
}

/** Shows a text once, and how to copy it. @param more what follows it, such as the same as a picture */
export function onceBox(heading: string, text: string, note: string, more: Html | string = ""): Html {
	return html`<section class="box" aria-labelledby="once"><h2 id="once">${heading}</h2>${copied("once-text", text, "Copy")}${more}<p class="warn">Copy it now: it is shown only this once, for ${ONCE_SECONDS / 60} minutes at most.</p><p>${note}</p></section>`;
}

/** Shows a text that goes with the page's value, with a button that copies it alone. @param id names the text on its page */
export function copied(id: string, text: string, label: string): Html {
	return html`<pre class="value" id="${id}" data-value="${ONCE_SECONDS}" translate="no">
${text}</pre><p><button type="button" data-copy="${id}" hidden>${label}</button></p>`;
}
