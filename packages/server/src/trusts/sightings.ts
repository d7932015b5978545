import { FairCache } from "../fair-cache.ts";
import { sourceGroup } from "../source.ts";

/** JWTs that are remembered, and sources of one. Design: §15 */
const [MAX_JWTS, MAX_SOURCES] = [10_000, 16];

interface Sighting {
	first_ip: string;
	sources: Set<string>;
}

/** The sources of JWTs that may be used more than once. They are in memory: a restart forgets them. */
export interface Sightings {
	/**
	 * Notes that a JWT came from an address.
	 * @param payer account that the machine counts toward: those that hold most forget first
	 * @returns the address from which it came first, when it comes from this source for the first time and came from another one before
	 */
	see(payer: string, mark: Buffer, ip: string): string | undefined;
	/** Forgets the source of an address, so that its next use is reported again. */
	forget(mark: Buffer, ip: string): void;
}

/** Makes the memory of sources. */
export function createSightings(): Sightings {
	const seen = new FairCache<Sighting>(MAX_JWTS);
	return {
		see(payer, mark, ip) {
			const name = mark.toString("base64url");
			const source = sourceGroup(ip);
			const sighting = seen.get(payer, name);
			if (sighting === undefined) {
				seen.set(payer, name, { first_ip: ip, sources: new Set([source]) });
				return undefined;
			}
			const { first_ip, sources } = sighting;
			if (sources.has(source) || sources.size >= MAX_SOURCES) return undefined;
			sources.add(source);
			return first_ip;
		},
		forget: (mark, ip) => void seen.peek(mark.toString("base64url"))?.sources.delete(sourceGroup(ip)),
	};
}
