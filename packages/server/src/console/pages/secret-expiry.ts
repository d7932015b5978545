import { hasExpired } from "../../expiry.ts";
import type { VersionInfo } from "../../secrets/model.ts";
import type { SecretName } from "../../secrets/secrets.ts";
import { type Html, html } from "../html.ts";
import type { Fields } from "../page.ts";
import { time } from "./components.ts";
import { pageOf, type SecretNeeds } from "./secret-name.ts";

/** Reads the expiry that a form has, in UTC; null when the field is empty. Browsers leave out seconds that are zero. */
export function expiryIn({ expires_at: expires = "" }: Fields): string | null {
	if (expires === "") return null;
	return `${expires}${/T\d\d:\d\d$/.test(expires) ? ":00" : ""}Z`;
}

/** Makes the field for an expiry. @param id names the field on its page @param expires_at fills it, if it is in the future */
export function expiryField(id: string, expires_at: string | null, now: string): Html {
	const kept = expires_at === null || hasExpired(expires_at, now) ? "" : expires_at.slice(0, 19);
	return html`<label for="${id}">Expires (UTC); empty for never</label><input id="${id}" name="expires_at" type="datetime-local" step="1" value="${kept}" autocomplete="off">`;
}

/** Says when a version expires, or that it has. */
export function expiryOf({ expires_at }: Pick<VersionInfo, "expires_at">, now: string): Html {
	if (expires_at === null) return html`never`;
	const isOver = hasExpired(expires_at, now);
	return html`${time(expires_at)}${isOver ? html` <span class="warn">expired</span>` : ""}`;
}

/** Shows when the secret expires and, with a form token, the form that changes this alone. */
export function expirySection(
	{ system, enforce_expiry }: SecretNeeds,
	name: SecretName,
	current: VersionInfo,
	token: Html | undefined,
): Html {
	const now = system.now().toISOString();
	const isOver = hasExpired(current.expires_at, now);
	const effect = enforce_expiry
		? html`An expired secret can no longer be read here.`
		: html`An expired secret is marked and can still be read.`;
	const over = isOver ? html`<p class="warn">It has expired: replace its value.</p>` : "";
	const form =
		token === undefined || (isOver && enforce_expiry)
			? ""
			: html`<details><summary>Change it without a new value</summary><form method="post" action="${pageOf(name)}">${token}<input type="hidden" name="action" value="expire"><input type="hidden" name="if_version" value="${current.version}">${expiryField("expiry", current.expires_at, now)}<p><button>Change the expiry</button></p></form><p class="quiet">This writes the same value as a new version, and reads it for that.</p></details>`;
	return html`<section class="box" aria-labelledby="expires"><h2 id="expires">Expiry</h2><p>Expires: ${expiryOf(current, now)}. ${effect}</p>${over}${form}</section>`;
}
