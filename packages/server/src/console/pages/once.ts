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

/** Shows a text once, and how to copy it. @param picture the same as a picture */
export function onceBox(heading: string, text: string, note: string, picture: Html | string = ""): Html {
	return html`<section class="box" aria-labelledby="once"><h2 id="once">${heading}</h2><pre class="value" data-value="${ONCE_SECONDS}" translate="no">
${text}</pre>${picture}<p class="warn">Copy it now: it is shown only this once, for ${ONCE_SECONDS / 60} minutes at most.</p><p>${note}</p><p><button type="button" data-copy="" hidden>Copy</button></p></section>`;
}
