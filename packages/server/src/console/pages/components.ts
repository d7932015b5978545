import type { Pagination } from "../../pagination.ts";
import { SCOPES } from "../../policy/model.ts";
import { type Address, type Html, html } from "../html.ts";
import type { Fields } from "../page.ts";

/** Shows an instant to the minute, in UTC; its attribute has all of it. */
export function time(instant: string): Html {
	return html`<time datetime="${instant}">${instant.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** Writes a count with its noun. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}

/** Offers values to choose from, one of which may be chosen already. */
export function options(values: readonly string[], chosen?: string): Html[] {
	return values.map((one) =>
		one === chosen
			? html`<option value="${one}" selected>${one}</option>`
			: html`<option value="${one}">${one}</option>`,
	);
}

/** Offers the roles of a realm, the least first. */
export function roleOptions(chosen?: string): Html[] {
	return options(["viewer", "member", "admin"], chosen);
}

/** Lists what each role allows, for a person who chooses one. */
export const ROLES_IN_WORDS = html`<p class="quiet">A viewer sees every value, also of prod. A member also writes values. An admin also deletes them, and gives roles.</p>`;

/** Offers the scopes of a token. */
export function scopeBoxes(): Html {
	const boxes = SCOPES.map((one) => html`<label><input type="checkbox" name="${one}" value="yes"> ${one}</label>`);
	return html`<fieldset><legend>It may (only read, if you tick none)</legend>${boxes}</fieldset>`;
}

/** Reads the scopes that were ticked, separated by commas; none means read. */
export function scopesIn(form: Fields): string {
	return SCOPES.filter((scope) => form[scope] === "yes").join(",");
}

/** Roles of engines that a form offers; `svc` takes any. */
const MAX_ENGINES = 64;

/** Offers roles of engines to limit a token to. */
export function engineBoxes(roles: readonly string[]): Html {
	const boxes = roles
		.slice(0, MAX_ENGINES)
		.map((one, index) => html`<label><input type="checkbox" name="engine.${index}" value="${one}"> ${one}</label>`);
	return html`<details><summary>Only some roles of engines</summary><fieldset><legend>Only these roles of engines, if you tick any</legend>${boxes}</fieldset></details>`;
}

/** Reads the roles of engines that were ticked; null for no limit. */
export function enginesIn(form: Fields): string[] | null {
	const ticked = Object.keys(form).filter((name) => name.startsWith("engine."));
	return ticked.length === 0 ? null : ticked.map((name) => form[name] ?? "");
}

/** Makes a table; below 46 rem each row becomes a block, with the headings before its cells. @param kind classes for the stylesheet */
export function table(caption: string, headings: readonly string[], rows: readonly Html[], kind = "stack"): Html {
	const cells = headings.map((heading) => html`<th scope="col">${heading}</th>`);
	return html`<table class="${kind}"><caption>${caption}</caption><thead><tr>${cells}</tr></thead><tbody>${rows}</tbody></table>`;
}

/** Links to the next page of a list. @param to its address, given the cursor */
export function more({ next_cursor }: Pagination, to: (cursor: string) => Address): Html | string {
	return next_cursor === undefined ? "" : html`<p><a href="${to(next_cursor)}">Next page</a></p>`;
}
