import { type Names, nameIn } from "../../names.ts";
import type { VersionInfo } from "../../secrets/model.ts";
import type { SecretName } from "../../secrets/secrets.ts";
import { KEPT_MINUTES } from "../drafts.ts";
import { type Html, html } from "../html.ts";
import { time } from "./components.ts";
import { pageOf } from "./secret-name.ts";

/** A write that was refused, because somebody else wrote in between. */
export interface Conflict {
	comment: string;
	/** As it was typed. */
	expires: string;
	/** True if the server remembers the typed value: no page shows it. */
	isKept: boolean;
}

/** Says who wrote in between, and offers to write the remembered value over that version. @param newest undefined when the secret was deleted */
export function conflictBox(
	name: SecretName,
	token: Html,
	newest: VersionInfo | undefined,
	people: ReadonlyMap<string, Names>,
	{ comment, expires, isKept }: Conflict,
): Html {
	const between =
		newest === undefined
			? html`The secret was deleted in between.`
			: html`${nameIn(people, newest.created_by)} wrote version ${newest.version} in between, at ${time(newest.created_at)}${newest.comment === "" ? "." : html`, with the comment: ${newest.comment}`}`;
	const over = newest === undefined ? "Write it as the first version" : `Write it over version ${newest.version}`;
	const hidden = (action: string) => html`${token}<input type="hidden" name="action" value="${action}">`;
	const rest = isKept
		? html`<p>The server remembers the value that you typed for ${KEPT_MINUTES} minutes. No page shows it.</p><form method="post" action="${pageOf(name)}">${hidden("rewrite")}<input type="hidden" name="if_version" value="${newest?.version ?? ""}"><input type="hidden" name="expires_at" value="${expires}">
<label for="kept-comment">Your comment</label><input id="kept-comment" name="comment" type="text" value="${comment}" autocomplete="off"><p><button>${over}</button></p></form><form method="post" action="${pageOf(name)}">${hidden("forget")}<p><button>Forget it</button></p></form>`
		: html`<p>The value that you typed is too long to be remembered: write it again below. Your comment was: ${comment}</p>`;
	return html`<section class="box" aria-labelledby="kept"><h2 id="kept">What you wrote is not stored</h2><p class="error" role="alert">${between}</p>${rest}</section>`;
}
