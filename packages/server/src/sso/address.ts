import { isLoopback } from "../config.ts";

/**
 * Tells whether an address may be used: it encrypts everything that crosses a network, and contains no user.
 * @param secure protocol with its colon. @param plain protocol that is good enough on loopback
 */
export function isProtected(text: string, secure: string, plain: string): boolean {
	if (!URL.canParse(text)) return false;
	const { protocol, hostname, username, password } = new URL(text);
	if (username !== "" || password !== "") return false;
	return protocol === secure || (protocol === plain && isLoopback(hostname));
}

/**
 * Tells whether a request came to another loopback name of the server's own address: a browser that begins a login there comes back to the
 * server's own name without the cookies.
 * @param host Host header
 */
export function isAlias(host: string | undefined, address: string): boolean {
	const own = new URL(address);
	const asked = URL.parse(`${own.protocol}//${host}`);
	if (asked === null || asked.host === own.host || asked.port !== own.port) return false;
	return isLoopback(asked.hostname) && isLoopback(own.hostname);
}
