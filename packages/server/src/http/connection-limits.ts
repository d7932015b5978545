import { siteOf } from "../source.ts";

/** Connections that one source may hold, and new ones it may open at once and each second: a TLS handshake takes 1 ms of a processor. */
const OPEN = 256;
const AT_ONCE = 256;
const A_SECOND = 50;
/** Multiple of these for one IPv6 site: a /48 has 65,536 sources. */
const SITE = 4;

/** Limits that can refuse a source's connection, how much each allows, and what to do about it. */
export const CONNECTION_LIMITS = {
	connections_per_source: { max: OPEN, hint: "if it is your proxy, add it to trusted_proxies" },
	connections_per_site: { max: OPEN * SITE, hint: "one IPv6 /48 holds them: is it yours?" },
	new_connections_per_source: {
		max: AT_ONCE,
		hint: "make its clients reuse connections or, if it is your proxy, add it to trusted_proxies",
	},
} as const;

/** Limits on the connections that each source holds and opens. */
export interface ConnectionLimits {
	/** Counts one more connection of a source. @returns the limit that refuses it, if one does */
	take(source: string): keyof typeof CONNECTION_LIMITS | undefined;
	/** Counts one connection less. */
	release(source: string): void;
	/** Forgets sources that have no connection and may open the full number again. */
	tidy(): void;
	/** Returns how much of each limit the fullest source or site uses. */
	fullest(): Record<keyof typeof CONNECTION_LIMITS, number>;
}

/** Usage of a source or a site. `tokens`: the new connections that it may open, as of `at`. */
interface Usage {
	readonly times: number;
	open: number;
	tokens: number;
	at: number;
}

/** Creates the limits. @param now milliseconds of a clock that does not jump */
export function createConnectionLimits(now: () => number = () => performance.now()): ConnectionLimits {
	const usages = new Map<string, Usage>();
	const find = (name: string, times: number): Usage =>
		refill(usages.get(name) ?? { times, open: 0, tokens: AT_ONCE * times, at: now() }, now());
	return {
		take(source) {
			const own = find(source, 1);
			const site = siteOf(source);
			const around = site === undefined ? undefined : find(site, SITE);
			if (own.open >= OPEN) return "connections_per_source";
			if (around !== undefined && around.open >= OPEN * SITE) return "connections_per_site";
			if (own.tokens < 1 || (around !== undefined && around.tokens < 1)) return "new_connections_per_source";
			usages.set(source, enter(own));
			if (site !== undefined && around !== undefined) usages.set(site, enter(around));
			return undefined;
		},
		release(source) {
			for (const name of [source, siteOf(source) ?? ""]) {
				const usage = usages.get(name);
				if (usage !== undefined) usage.open--;
			}
		},
		tidy() {
			for (const [name, usage] of usages) {
				const { open, tokens, times } = refill(usage, now());
				if (open === 0 && tokens === AT_ONCE * times) usages.delete(name);
			}
		},
		fullest() {
			const found = { connections_per_source: 0, connections_per_site: 0, new_connections_per_source: 0 };
			for (const usage of usages.values()) {
				const { open, tokens, times } = refill(usage, now());
				const name = times === 1 ? "connections_per_source" : "connections_per_site";
				found[name] = Math.max(found[name], open);
				const opened = Math.ceil(AT_ONCE - tokens / times);
				found.new_connections_per_source = Math.max(found.new_connections_per_source, opened);
			}
			return found;
		},
	};
}

function enter(usage: Usage): Usage {
	usage.open++;
	usage.tokens--;
	return usage;
}

function refill(usage: Usage, now: number): Usage {
	const { times, tokens, at } = usage;
	usage.tokens = Math.min(AT_ONCE * times, tokens + ((now - at) / 1000) * A_SECOND * times);
	usage.at = now;
	return usage;
}
