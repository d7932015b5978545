import type { AppError, ErrorCode } from "../../errors.ts";
import { addressOf, html } from "../html.ts";
import type { Page } from "../page.ts";

const TITLES: Partial<Record<number, string>> = {
	401: "Sign in again",
	403: "You may not do this",
	404: "Not found",
	405: "Not possible",
	409: "Something changed",
	413: "Too large",
	429: "Too many requests",
	500: "Something went wrong",
	503: "Not available now",
};

/** Titles of refusals whose status says too little. */
const TITLES_OF_CODES: Partial<Record<ErrorCode, string>> = {
	limit_reached: "A limit is reached",
	wrong_code: "The code is wrong",
	wrong_password: "The password is wrong",
};

/**
 * Makes the page of a refusal: what happened, who can help, and a way on.
 * @param from the page whose form was refused
 */
export function errorPage({ status, code, message }: AppError, from?: string): Page {
	const again = from === undefined ? "" : html`<p><a href="${addressOf(from)}">Back to the page, as it is now</a></p>`;
	// An account is made an instance admin by another one, never by a role.
	const helper = /instance admin/.test(message)
		? "An instance admin can do it, or make you one with svc users admin."
		: "An admin of the realm can give you another role, on the page Members.";
	const help = code === "forbidden" ? html`<p>${helper}</p>` : "";
	return {
		title: TITLES_OF_CODES[code] ?? TITLES[status] ?? "This did not work",
		status,
		body: html`<p class="error" role="alert">${message}</p>${help}${again}`,
	};
}
