import { FairCache } from "../fair-cache.ts";
import { sourceGroup } from "../source.ts";

/** JWTs that are remembered, and sources of one. Design: §15 */
const [MAX_JWTS, MAX_SOURCES] = [10_000, 16];

interface Entry {
	first_ip: string;
	sources: Set<string>;
}

/** Records from which sources reusable JWTs came, in memory: a restart forgets them. */
export interface JwtSources {
	/**
	 * Notes that a JWT came from an address.
	 * @param payer account that the machine counts toward: when the record is full, the account with the most entries loses one
	 * @returns the address from which it came first, when it comes from this source for the first time and came from another one before
	 */
	note(payer: string, digest: Buffer, ip: string): string | undefined;
	/** Forgets the source of an address, so that its next use is reported again. */
	forget(digest: Buffer, ip: string): void;
}

/** Creates the record of sources. */
export function createJwtSources(): JwtSources {
	const seen = new FairCache<Entry>(MAX_JWTS);
	return {
		note(payer, digest, ip) {
			const name = digest.toString("base64url");
			const source = sourceGroup(ip);
			const found = seen.get(payer, name);
			if (found === undefined) {
				seen.set(payer, name, { first_ip: ip, sources: new Set([source]) });
				return undefined;
			}
			const { first_ip, sources } = found;
			if (sources.has(source) || sources.size >= MAX_SOURCES) return undefined;
			sources.add(source);
			return first_ip;
		},
		forget: (digest, ip) => void seen.peek(digest.toString("base64url"))?.sources.delete(sourceGroup(ip)),
	};
}
