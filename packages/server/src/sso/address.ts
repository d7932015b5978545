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
