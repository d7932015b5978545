import { hash } from "node:crypto";
import * as v from "valibot";
import type { AuditEvent, EventData } from "../audit/model.ts";
import type { MachineToken } from "../machines/model.ts";
import { atMost, errorMessage, PlainText, RequiredText, Text } from "../messages.ts";
import { brief, type Port, read, write } from "../operation.ts";

/** Trusts of one machine. Design: §13 */
export const MAX_TRUSTS = 20;

/** Used JWTs that are remembered for one realm. Design: §13 */
export const MAX_USED = 50_000;

/** The longest life of a token that a trust gives, in milliseconds. Design: §15 */
export const MAX_TTL_MS = 60 * 60_000;

/** Platforms whose claims the server knows; `oidc` is any other. Design: §15 */
const TRUST_TYPES = ["github", "gitlab", "kubernetes", "oidc"] as const;

export type TrustType = (typeof TRUST_TYPES)[number];

const TYPE = errorMessage("validation_failed", "type must be github, gitlab, kubernetes or oidc");
const WHOLE = errorMessage("validation_failed", "a number in claims must be whole, and exact in JSON");
const CLAIM = errorMessage("validation_failed", "each of claims must be a text, true, false or a whole number");
const ClaimValue = v.union(
	[v.pipe(PlainText, atMost(1024, "a claim")), v.boolean(), v.pipe(v.number(), v.safeInteger(WHOLE))],
	CLAIM,
);

/** A trust as a request sets it. Design: §15 */
export const SetTrust = v.object({
	type: v.nullish(v.picklist(TRUST_TYPES, TYPE), null),
	issuer: v.nullish(v.pipe(RequiredText, atMost(512, "issuer")), null),
	trust_domain: v.nullish(v.pipe(RequiredText, atMost(255, "trust_domain")), null),
	audience: v.pipe(RequiredText, atMost(255, "audience")),
	claims: v.record(v.string(), ClaimValue),
	max_ttl: v.nullish(RequiredText, "1h"),
	single_use: v.nullish(v.boolean(), null),
	jwks: v.nullish(v.object({ keys: v.array(v.record(v.string(), v.unknown())) }), null),
	ca_cert: v.nullish(v.pipe(RequiredText, atMost(16_384, "ca_cert")), null),
});

/** An exchange. Whatever is in it is refused alike. Design: §15 */
export const ExchangeJwt = v.object({ realm: Text, machine: Text, jwt: Text });

/** A machine's trust in the JWTs of an issuer. It is never changed: another one takes its name. */
export interface Trust {
	id: string;
	machine_id: string;
	/** Unique for its machine. */
	name: string;
	type: TrustType;
	/** Exactly one of these two is set; the domain is that of SPIFFE. */
	issuer: string | null;
	trust_domain: string | null;
	audience: string;
	/** JSON: the value of each place. */
	claims: string;
	/** Longest life of a token that it gives, in milliseconds. */
	max_ttl_ms: number;
	/** True if it takes each JWT once. */
	single_use: boolean;
	/** JSON: the issuer's keys, when they were given. */
	jwks: string | null;
	/** PEM of the authority that signs the issuer's certificate, in place of Node's. */
	ca_cert: string | null;
	/** Host of the issuer's keys when the trust was made; null for keys that were given. */
	keys_host: string | null;
	/** User who made it. */
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** A used JWT: nobody uses it again. */
export interface UsedJwt {
	digest: Buffer;
	/** The realm that it counts for. */
	realm_id: string;
	/** ISO 8601 UTC: it has ended by itself then. */
	until: string;
}

/** Names all that a trust says, as its event does; the given keys or authority by their SHA-256. */
export function trustFacts(trust: Omit<Trust, "created_by" | "created_at">): EventData {
	const { id, machine_id, name, type, issuer, trust_domain, audience, claims, max_ttl_ms, single_use } = trust;
	const given = trust.jwks ?? trust.ca_cert;
	return {
		...{ trust_id: id, machine_id, trust: name, trust_type: type, issuer: issuer ?? "" },
		...{ trust_domain: trust_domain ?? "", audience, claims, max_ttl_ms, single_use },
		...{ keys_host: trust.keys_host ?? "", keys: given === null ? "" : hash("sha256", given) },
	};
}

/** JWTs that are remembered with their sources, and sources of one. Design: §15 */
export const [MAX_SEEN_JWTS, MAX_JWT_SOURCES] = [10_000, 16];

/** A verified JWT that may be used again, and where it came from. */
export interface SeenJwt {
	digest: Buffer;
	/** Account that the machine counts toward: when the record is full, the account with the most JWTs loses one. */
	payer: string;
	ip: string;
}

/** Operations of the store on trusts. No read sees those of a deleted machine or realm. */
export const trustOperations = {
	/** Adds a trust, in place of the machine's trust of that name, whose tokens end. */
	set: write<(trust: Trust, event: AuditEvent) => "done" | "gone" | "limit_reached">(),
	byName: read<(machine_id: string, name: string) => Trust | undefined>(),
	/** Lists a machine's trusts in the order of their names. */
	list: read<(machine_id: string, after: string, limit: number) => Trust[]>(),
	count: read<(machine_id: string) => number>(),
	/** Removes a trust with the tokens that it gave; false when there was none. */
	remove: write<(input: { machine_id: string; name: string }, event: AuditEvent) => boolean>(),
	/**
	 * Adds a token in exchange for a JWT, and records the JWT when it may be used only once. Any answer but `done` means that nothing changed. `gone`: the
	 * trust, its machine or its realm is not there any more.
	 */
	exchange: write<
		(
			input: { token: MachineToken; used: UsedJwt | undefined },
			event: AuditEvent,
		) => "done" | "gone" | "replay" | "limit_reached"
	>({ forgets: [] }),
	/** Notes where a JWT came from. Answers the address from which it came first if this source is a new one of a JWT that is known. */
	noteSource: brief<(seen: SeenJwt) => string | undefined>(),
	/** Forgets the source of an address, so that its next use is reported again. */
	forgetSource: brief<(digest: Buffer, ip: string) => void>(),
	/** Forgets used JWTs that ended before the instant. */
	forgetUsed: write<(ended_before: string) => number>({ forgets: [], inBatches: true }),
};

/** The store's part for trusts. */
export type TrustStore = Port<typeof trustOperations>;
