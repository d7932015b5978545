import { siteOf } from "../source.ts";

/** Connections that one source may hold, and new ones it may open at once and each second: a TLS handshake takes 1 ms of a processor. */
const OPEN = 256;
const AT_ONCE = 256;
const A_SECOND = 50;
/** Multiple of these for one IPv6 site: a /48 has 65,536 sources. */
const SITE = 4;

/** Limits that can refuse a source's connection, how much each allows, and what to do about it. */
export const SHARE_LIMITS = {
	connections_per_source: { max: OPEN, hint: "if it is your proxy, add it to trusted_proxies" },
	connections_per_site: { max: OPEN * SITE, hint: "one IPv6 /48 holds them: is it yours?" },
	new_connections_per_source: {
		max: AT_ONCE,
		hint: "make its clients reuse connections or, if it is your proxy, add it to trusted_proxies",
	},
} as const;

/** Connections that each source holds, and how many more it may open now. */
export interface Shares {
	/** Counts one more connection of a source. @returns the limit that refuses it, if one does */
	take(source: string): keyof typeof SHARE_LIMITS | undefined;
	/** Counts one connection less. */
	release(source: string): void;
	/** Forgets sources that have no connection and may open the full number again. */
	tidy(): void;
	/** Tells how much of each limit the fullest source or site uses. */
	fullest(): Record<keyof typeof SHARE_LIMITS, number>;
}

/** Share of a source or a site. `tokens`: the new connections that it may open, as of `at`. */
interface Share {
	readonly times: number;
	open: number;
	tokens: number;
	at: number;
}

/** Divides connections among sources. @param now milliseconds of a clock that does not jump */
export function createShares(now: () => number = () => performance.now()): Shares {
	const shares = new Map<string, Share>();
	const find = (name: string, times: number): Share =>
		refill(shares.get(name) ?? { times, open: 0, tokens: AT_ONCE * times, at: now() }, now());
	return {
		take(source) {
			const own = find(source, 1);
			const site = siteOf(source);
			const around = site === undefined ? undefined : find(site, SITE);
			if (own.open >= OPEN) return "connections_per_source";
			if (around !== undefined && around.open >= OPEN * SITE) return "connections_per_site";
			if (own.tokens < 1 || (around !== undefined && around.tokens < 1)) return "new_connections_per_source";
			shares.set(source, enter(own));
			if (site !== undefined && around !== undefined) shares.set(site, enter(around));
			return undefined;
		},
		release(source) {
			for (const name of [source, siteOf(source) ?? ""]) {
				const share = shares.get(name);
				if (share !== undefined) share.open--;
			}
		},
		tidy() {
			for (const [name, share] of shares) {
				const { open, tokens, times } = refill(share, now());
				if (open === 0 && tokens === AT_ONCE * times) shares.delete(name);
			}
		},
		fullest() {
			const found = { connections_per_source: 0, connections_per_site: 0, new_connections_per_source: 0 };
			for (const share of shares.values()) {
				const { open, tokens, times } = refill(share, now());
				const name = times === 1 ? "connections_per_source" : "connections_per_site";
				found[name] = Math.max(found[name], open);
				const opened = Math.ceil(AT_ONCE - tokens / times);
				found.new_connections_per_source = Math.max(found.new_connections_per_source, opened);
			}
			return found;
		},
	};
}

function enter(share: Share): Share {
	share.open++;
	share.tokens--;
	return share;
}

function refill(share: Share, now: number): Share {
	const { times, tokens, at } = share;
	share.tokens = Math.min(AT_ONCE * times, tokens + ((now - at) / 1000) * A_SECOND * times);
	share.at = now;
	return share;
}
