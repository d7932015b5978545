import { FairCache } from "../../fair-cache.ts";
import { sourceGroup } from "../../source.ts";
import { MAX_JWT_SOURCES, MAX_SEEN_JWTS } from "../../trusts/model.ts";
import type { Briefs } from "../store.ts";

interface Entry {
	first_ip: string;
	sources: Set<string>;
}

/** Records from which sources reusable JWTs came. */
export function jwtSourcesInMemory(): Briefs["trusts"] {
	const seen = new FairCache<Entry>(MAX_SEEN_JWTS);
	return {
		noteSource({ digest, payer, ip }) {
			const name = digest.toString("base64url");
			const source = sourceGroup(ip);
			const found = seen.get(payer, name);
			if (found === undefined) {
				seen.set(payer, name, { first_ip: ip, sources: new Set([source]) });
				return undefined;
			}
			const { first_ip, sources } = found;
			if (sources.has(source) || sources.size >= MAX_JWT_SOURCES) return undefined;
			sources.add(source);
			return first_ip;
		},
		forgetSource: (digest, ip) => void seen.peek(digest.toString("base64url"))?.sources.delete(sourceGroup(ip)),
	};
}
