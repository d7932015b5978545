import { Failure } from "../failure.ts";

/** Default address of a server on this machine. Design: §7.1. */
export const DEFAULT_ADDRESS = "https://localhost:8443";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Tells whether an address leads to this machine. */
export function isLoopback({ hostname }: URL): boolean {
	return LOOPBACK.test(hostname);
}

/**
 * Spells an address in one way: scheme, host, port unless it is the scheme's default, path without a trailing slash.
 * @throws Failure usage when it is no https address, or http to another machine, where tokens would travel in the clear
 */
export function parseAddress(text: string): string {
	if (!URL.canParse(text)) throw unusable("the address is not a URL");
	const url = new URL(text);
	if (url.protocol !== "https:" && url.protocol !== "http:") throw unusable("the address must begin with https://");
	if (url.username || url.password) throw unusable("the address must not hold a user name or a password");
	if (url.search || url.hash) throw unusable("the address must end with its host, port or path");
	if (url.protocol === "http:" && !isLoopback(url)) {
		throw unusable(
			"http:// is only for this machine, such as http://127.0.0.1:8443: elsewhere tokens would travel in the clear",
		);
	}
	return url.origin + url.pathname.replace(/\/+$/, "");
}

function unusable(message: string): Failure {
	return new Failure("usage", message, { hint: `use an address such as ${DEFAULT_ADDRESS}` });
}
