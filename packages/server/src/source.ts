import type { IncomingMessage } from "node:http";
import { isIP, isIPv6 } from "node:net";

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

/**
 * Names the group of addresses that counts as one source: a single IPv4 address, also as an IPv6 socket spells it; an IPv6 address with its whole
 * /64, the least that a provider gives to one line. Each limit per source counts by it. Returns text that is not an address unchanged.
 */
export function sourceGroup(ip: string): string {
	if (!ip.includes(":") || !isIPv6(ip)) return ip;
	const groups = toGroups(ip);
	const isIPv4 = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
	if (isIPv4)
		return groups
			.slice(6)
			.flatMap((group) => [group >> 8, group & 0xff])
			.join(".");
	return `${toHex(groups.slice(0, 4))}::/64`;
}

/**
 * Names the /48 of an IPv6 source, which one site may have: 65,536 sources. Undefined for any other source.
 * @param source as `sourceGroup` returns it
 */
export function siteOf(source: string): string | undefined {
	return source.endsWith("::/64") ? `${source.split(":", 3).join(":")}::/48` : undefined;
}

/**
 * Names the quotas that a source counts toward: its site's, if it has one, and its own.
 * @param source as `sourceGroup` returns it
 */
export function keysOfSource(source: string): [string, ...string[]] {
	const site = siteOf(source);
	return site === undefined ? [source] : [site, source];
}

/** The eight numbers of an IPv6 address. */
function toGroups(ip: string): number[] {
	const [head = "", tail] = ip.replace(/%.*$/, "").split("::");
	const before = toNumbers(head);
	if (tail === undefined) return before;
	const after = toNumbers(tail);
	return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function toNumbers(text: string): number[] {
	return text
		.split(":")
		.filter((part) => part !== "")
		.flatMap((part) => {
			if (!part.includes(".")) return [Number.parseInt(part, 16)];
			const [a = 0, b = 0, c = 0, d = 0] = part.split(".").map(Number);
			return [(a << 8) | b, (c << 8) | d];
		});
}

function toHex(groups: readonly number[]): string {
	return groups.map((group) => group.toString(16)).join(":");
}
