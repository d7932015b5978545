import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { RequiredText } from "../messages.ts";
import { type Port, scan, write } from "../operation.ts";

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
	/** Ends also what the user lately made for others to use. */
	with_made: v.nullish(v.boolean(), false),
});

/** Rows of each kind that one look at what a user made shows. */
export const MAX_MADE_SHOWN = 100;

/** Rows that a user lately made for others to use, newest first; at most MAX_MADE_SHOWN of each kind. */
export interface Made {
	machines: { realm: string; name: string; role: string; created_at: string }[];
	/** Tokens of machines, including those of the machines above. */
	machine_tokens: { id: string; machine: string; prefix: string; created_at: string; expires_at: string }[];
	/** Trusts that the user added, and those of the machines above. */
	trusts: { id: string; machine: string; name: string; type: string; created_at: string }[];
	/** Open ones. */
	invitations: { id: string; email: string; created_at: string; expires_at: string }[];
}

/** Extent of a revocation: everything of a user, everything for a realm alone, or with both what they have in common. */
export interface Revocation {
	user_id: string | undefined;
	realm_id: string | undefined;
	/** The session or API token of the request, which stays. */
	keep: string;
	/** Removes links made after this instant, except for the one that made the account; ISO 8601 UTC. */
	links_since: string | undefined;
	/** Ends what the user made after this instant: machines, their tokens and trusts, invitations; ISO 8601 UTC. */
	made_since?: string | undefined;
	/** Time when the credentials become due, in milliseconds of the lease clock. */
	now_ms: number;
	/** Continues a revocation: the logs of realms have its event already. */
	isFurther?: boolean | undefined;
}

/** Counts of a revocation. */
export interface Revoked {
	sessions: number;
	tokens: number;
	/** Credentials that are being removed from now on. */
	leases: number;
	/** Links of identities, with which somebody else could have signed in. */
	identities: number;
	/** Machines that the user made; this count and the next three only where those end, too. */
	machines?: number;
	/** Tokens of machines that the user made, those of the ended machines and trusts included. */
	machine_tokens?: number;
	/** Trusts that the user added, those of the ended machines included. */
	trusts?: number;
	invitations?: number;
	/** Set when only a part has ended, and more is left. */
	more?: true;
}

/** Operations of the store on revocations. */
export const revocationOperations = {
	/** Shows what a user made after an instant and that still exists. */
	made: scan<(user_id: string, since: string, now: string) => Made>(),
	/**
	 * Ends sessions and API tokens, removes links and makes leases due, including those being made, with one event that counts them. The log of
	 * each realm in which something that the user made ends has the event, too. Of what may be many, it ends a part: the answer and the event then say
	 * `more`, and the caller asks again, so that others' changes get their turn.
	 */
	revoke: write<(input: Revocation, event: AuditEvent) => Revoked>({ events: 0 }),
};

/** The store's part for revocations. */
export type RevocationStore = Port<typeof revocationOperations>;
