import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/**
 * Makes the function that tells where a request comes from: the socket's other end, or, behind a proxy that the configuration trusts,
 * the last address of X-Forwarded-For that is not one of these proxies.
 */
export function createSourceReader(trusted: readonly string[]): (incoming: IncomingMessage) => string {
	const proxies = new Set(trusted);
	return (incoming) => {
		const peer = plain(incoming.socket.remoteAddress ?? "");
		if (proxies.size === 0 || !proxies.has(peer)) return peer;
		const forwarded = [incoming.headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
		const named = forwarded.map((part) => part.trim()).filter((part) => isIP(part) !== 0);
		return named.findLast((address) => !proxies.has(address)) ?? peer;
	};
}

/** An IPv4 address is one, whether or not the socket is of version 6. */
function plain(address: string): string {
	return address.startsWith("::ffff:") ? address.slice(7) : address;
}
