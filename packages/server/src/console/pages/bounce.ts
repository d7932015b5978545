import { addressOf, html } from "../html.ts";
import type { Page } from "../page.ts";

/** Asks for the same page again, from this site: the browser then sends the cookies. */
export function bounce(target: string): Page {
	const link = html`<a href="${addressOf(target)}">Open it now</a>`;
	return { title: "One moment", body: html`<p>The page opens automatically. ${link}</p>`, refresh: 0 };
}
