import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/**
 * Makes the function that tells where a request comes from: the socket's other end, or, behind a proxy that the configuration trusts, what
 * this proxy wrote last into X-Forwarded-For. Only entries to the right of the first untrusted one were written by proxies; everything
 * further left is the caller's own word.
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

/** Every request's address is looked at. */
const PLAIN_IPV4 = /^[\d.]+$/;

/** Answers an address without blanks, port, brackets, and the prefix of an IPv4 address on a version 6 socket. */
export function plainAddress(text: string): string {
	if (PLAIN_IPV4.test(text)) return text;
	const trimmed = text.trim();
	const address = /^\[(.+)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
	return address.startsWith("::ffff:") ? address.slice(7) : address;
}
