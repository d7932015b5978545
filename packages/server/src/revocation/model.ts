import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { RequiredText } from "../messages.ts";
import { type Port, write } from "../operation.ts";

/**
 * Age in milliseconds up to which a revocation removes links, and, when it is asked to, what its user made for others to use: an intruder in the account
 * may have made them. Design: §13, §15
 */
export const RECENTLY_MADE_MS = 30 * 24 * 60 * 60 * 1000;

/** Subject of a revocation: at least one of user and realm. */
export const Revoke = v.object({
	user_id: v.nullish(RequiredText),
	/** Slug. */
	realm: v.nullish(RequiredText),
	/** Keeps identities that were recently linked with the account. */
	keep_links: v.nullish(v.boolean(), false),
});

/** Extent of a revocation: everything of a user, everything for a realm alone, or with both what they have in common. */
export interface Revocation {
	user_id: string | undefined;
	realm_id: string | undefined;
	/** The session or API token of the request, which stays. */
	keep: string;
	/** Removes links made after this instant, except for the one that made the account; ISO 8601 UTC. */
	links_since: string | undefined;
	/** Time when the credentials become due, in milliseconds of the lease clock. */
	now_ms: number;
}

/** Counts of a revocation. */
export interface Revoked {
	sessions: number;
	tokens: number;
	/** Credentials that are being removed from now on. */
	leases: number;
	/** Links of identities, with which somebody else could have signed in. */
	identities: number;
}

/** Operations of the store on revocations. */
export const revocationOperations = {
	/** Ends sessions and API tokens, removes links and makes leases due, including those being made, with one event that counts them. */
	revoke: write<(input: Revocation, event: AuditEvent) => Revoked>(),
};

/** The store's part for revocations. */
export type RevocationStore = Port<typeof revocationOperations>;
