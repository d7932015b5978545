import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "../errors.ts";
import type { PageRequest } from "../http/pages.ts";
import type { Fields } from "./page.ts";

/**
 * Refuses a request for a page that a page of ours, or a person, did not make: from a frame, from a script, or for another address.
 * @throws AppError forbidden
 * Design: §16
 */
export function checkOrigin({ headers, method }: PageRequest, origin: string): void {
	const destination = headers["sec-fetch-dest"];
	if (destination !== undefined && destination !== "document")
		throw new AppError("forbidden", "the console answers neither frames nor scripts: open it in a window of its own");
	if (method === "POST") checkPost(headers, origin);
}

/** A form of another site, or of another host of this one, is refused; so is a browser that does not say where a form is from. */
function checkPost(headers: PageRequest["headers"], origin: string): void {
	if (headers["sec-fetch-site"] !== "same-origin")
		throw new AppError("forbidden", `the form did not come from the console: open ${origin}/console and try again`);
	if (headers.origin === origin) return;
	throw new AppError(
		"forbidden",
		headers.origin === "null"
			? "the browser does not say where the form is from: a proxy that sends Referrer-Policy: no-referrer has this effect"
			: `the console is at ${origin} (base_url), and the form is from another address: open it there`,
	);
}

/** Tells whether a link on another site led here: the browser then withholds the cookie. */
export function isCrossSite({ method, headers }: PageRequest): boolean {
	return method === "GET" && headers["sec-fetch-site"] === "cross-site";
}

/** Name of the hidden field with a form's token. */
export const FORM_TOKEN = "form_token";

/** Makes the token of a session's forms: the same in all its windows, and gone with it. */
export function formToken(key: Buffer, jti: string): string {
	return createHmac("sha256", key).update(`console form\0${jti}`).digest("base64url");
}

/** Requires the session's own form token. @throws AppError forbidden */
export function checkForm(form: Fields, expected: string): void {
	const given = Buffer.from(form[FORM_TOKEN] ?? "");
	const wanted = Buffer.from(expected);
	if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
	throw new AppError("forbidden", "the form is not of this session: open the page again and repeat what you did");
}
