const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Whether an address may be used: what crosses a network is encrypted, and it names no user.
 * @param secure protocol with its colon. @param plain protocol that is good enough on loopback
 */
export function isProtected(text: string, secure: string, plain: string): boolean {
	if (!URL.canParse(text)) return false;
	const { protocol, hostname, username, password } = new URL(text);
	if (username !== "" || password !== "") return false;
	return protocol === secure || (protocol === plain && LOOPBACK.includes(hostname));
}
