import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { RequiredText } from "../messages.ts";
import { type Port, write } from "../operation.ts";

/** Whose access is taken back: at least one of the two is given. */
export const Revoke = v.object({
	user_id: v.nullish(RequiredText),
	/** Slug. */
	realm: v.nullish(RequiredText),
	/** Identities that were linked with the account of late stay. */
	keep_links: v.nullish(v.boolean(), false),
});

/** What is taken back: of a user everything, of a realm what is for that realm alone, of both what they have in common. */
export interface Revocation {
	user_id: string | undefined;
	realm_id: string | undefined;
	/** The session or API token that asks, which stays. */
	keep: string;
	/** Links made after it are removed, but for the one that made the account; ISO 8601 UTC. */
	links_since: string | undefined;
	/** When the credentials are due, in milliseconds of the lease clock. */
	now_ms: number;
}

/** How much was taken back. */
export interface Revoked {
	sessions: number;
	tokens: number;
	/** Credentials that are being removed from now on. */
	leases: number;
	/** Links of identities, by which somebody else could have signed in. */
	identities: number;
}

/** Operations of the store on taking access back. */
export const revocationOperations = {
	/** Ends sessions and API tokens, removes links and makes leases due, those that are being made included, with one event that counts them. */
	revoke: write<(input: Revocation, event: AuditEvent) => Revoked>(),
};

/** The store's part for revocations. */
export type RevocationStore = Port<typeof revocationOperations>;
