import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/**
 * Makes the function that finds a request's source: the socket's other end, or, behind a trusted proxy, the last entry of X-Forwarded-For that
 * is not a trusted proxy. Proxies wrote this entry and those to its right; everything further left is the caller's own claim.
 */
export function createSourceReader(trusted: readonly string[]): (incoming: IncomingMessage) => string {
	const proxies = new Set(trusted);
	return (incoming) => {
		const peer = plainAddress(incoming.socket.remoteAddress ?? "");
		if (proxies.size === 0 || !proxies.has(peer)) return peer;
		const forwarded = [incoming.headers["x-forwarded-for"] ?? []].flat().join(",").split(",").map(plainAddress);
		const source = forwarded.findLast((address) => !proxies.has(address)) ?? peer;
		return isIP(source) === 0 ? peer : source;
	};
}

/** Fast path for most addresses: every request has one. */
const PLAIN_IPV4 = /^[\d.]+$/;

/** Strips an address of blanks, port, brackets, and the prefix of an IPv4 address on an IPv6 socket. */
export function plainAddress(text: string): string {
	if (PLAIN_IPV4.test(text)) return text;
	const trimmed = text.trim();
	const address = /^\[(.+)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
	return address.startsWith("::ffff:") ? address.slice(7) : address;
}
