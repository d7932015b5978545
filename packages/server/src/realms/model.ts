import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import type { Filled, RowLimit } from "../limits.ts";
import { atMost, errorMessage, PlainText, RequiredPlainText, RequiredText } from "../messages.ts";
import { type Port, read, scan, write } from "../operation.ts";
import type { Binding, Role } from "../policy/model.ts";

/** Spec: API › Limits. Design: §7. */
const Slug = v.pipe(
	RequiredText,
	v.regex(
		/^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])$/,
		errorMessage(
			"invalid_slug",
			"slug must be 2 to 50 lower-case letters, digits and hyphens, with no hyphen at either end",
		),
	),
);

const Name = v.pipe(RequiredPlainText, atMost(255, "name"));
const Description = v.pipe(PlainText, atMost(2048, "description"));

/** Spec: API › Realms. */
export const CreateRealm = v.object({ slug: Slug, name: Name, description: v.nullish(Description, "") });

/** Fields that change, and the new owner's id or e-mail. Design: §15. */
export const ChangeRealm = v.object({
	name: v.optional(Name),
	description: v.optional(Description),
	owner: v.optional(RequiredText),
});

/** A deletion and a slug for the restored realm. Both have defaults. Design: §15. */
export const RestoreRealm = v.object({ id: v.optional(RequiredText), slug: v.optional(Slug) });

/** Days between a realm's deletion and its purge. Design: §7. */
export const PURGE_AFTER_DAYS = 30;

export interface Realm {
	id: string;
	slug: string;
	name: string;
	description: string;
	/** Owner. */
	user_id: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** A deleted realm that can be restored. */
export interface DeletedRealm extends Realm {
	/** User who deleted it; empty for deletions by an older version. */
	deleted_by: string;
	/** ISO 8601 UTC. */
	deleted_at: string;
}

/** Deleted realms that a caller may restore. */
export interface Restorable {
	/** Their owner; undefined for those of all owners. */
	user_id: string | undefined;
	/** Deleted after this instant. */
	since: string;
}

/** A realm to be made. */
export interface NewRealm {
	realm: Realm;
	/** Its record key. */
	key: KeyRow;
	/** Realms that an account may own, unless it has its own limit. */
	realms_per_account: number;
}

/** A realm as a change leaves it. */
export interface RealmChange extends Pick<Realm, "id" | "name" | "description" | "user_id"> {
	/** Owner who makes the change; undefined when the instance admin makes it for one who is disabled. */
	by_owner: string | undefined;
	/** Role that the owner keeps when another account takes the realm. */
	kept: Binding | undefined;
	/** Realms that an account may own, unless it has its own limit. */
	realms_per_account: number;
}

/**
 * Outcome of a change. `not_owner`: the owner is another one or, for the instance admin, not disabled; `not_heir`: the new owner is not an enabled
 * account with the role admin there.
 */
export type ChangeOutcome = "done" | "realm_gone" | "not_owner" | "not_heir" | "limit_reached" | "user_limit_reached";

/** A live realm as one user sees it. */
export interface RealmAccess extends Realm {
	/** The user's role; the owner is its admin; null for users who are not members. */
	role: Role | null;
}

/** Limits of realms in the settings. */
export interface RealmLimits {
	/** Bytes that a realm may hold. */
	realm_bytes: number;
	/** Realms that an account may own. */
	realms_per_account: number;
}

/** For each limit, the realms, accounts or machines that used the largest share of it, fullest first; deleted realms count. */
export type Fullest = Record<RowLimit, Filled[]>;

/** A realm to be purged, if it was deleted before the instant. */
interface Purgeable {
	id: string;
	deleted_before: string;
}

/** Operations of the store on realms. No read sees deleted realms, but those that say so. */
export const realmOperations = {
	/** Adds the realm and its record key, unless its owner has as many as the account may, including deleted ones. */
	create: write<(input: NewRealm, event: AuditEvent) => "done" | "slug_taken" | "limit_reached">(),
	/** Finds the realm and the user's role in it. */
	access: read<(slug: string, user_id: string) => RealmAccess | undefined>({
		in: "access",
		by: 2,
	}),
	/** Finds ids and slugs of the live ones among these realms. */
	named: read<(ids: readonly string[]) => Pick<Realm, "id" | "slug">[]>(),
	/** Lists realms that the user owns or is bound in. `only` narrows the list to one realm. */
	list: read<(user_id: string, only: string | undefined, after: string, limit: number) => Realm[]>(),
	count: read<(user_id: string, only: string | undefined) => number>(),
	/** Replaces name, description and owner; the new owner's binding ends. Any answer but `done` means that nothing changed. */
	change: write<(input: RealmChange, event: AuditEvent) => ChangeOutcome>(),
	/** Soft-deletes it; false when it was not live. What is limited to it and its machines grant nothing from then on; `endRestricted` removes it. */
	remove: write<(input: { id: string; deleted_at: string }, event: AuditEvent) => boolean>(),
	/** Finds some realms deleted before the instant. */
	deletedBefore: read<(instant: string, limit: number) => { id: string; slug: string }[]>(),
	/** Finds the realms, accounts and machines nearest to their limits at the instant, among all. */
	fullest: scan<(input: { max: Record<RowLimit, number>; now: string }) => Fullest>(),
	/**
	 * Removes the contents of a realm that was deleted before the instant, in parts. The realm and its keys stay until it is purged; nobody can restore
	 * it any more. @returns how many rows
	 */
	empty: write<(purgeable: Purgeable) => number>({ inBatches: true }),
	/** Removes a realm that was deleted before the instant, with all rows and record keys. */
	purge: write<(purgeable: Purgeable, event: AuditEvent) => boolean>(),
	/** Lists deleted realms in order of their creation. @param after an id, or "" for the start */
	deleted: scan<(which: Restorable, after: string, limit: number) => DeletedRealm[]>(),
	countDeleted: scan<(which: Restorable) => number>(),
	/** Finds the newest deletion of a realm with this slug, or the one with this id. */
	findDeleted: read<(which: Restorable & { slug: string; id: string | undefined }) => DeletedRealm | undefined>(),
	/**
	 * Removes what ends permanently with a realm's deletion, in parts: tokens limited to it, tokens and trusts of its machines.
	 * @returns how many rows; 0 for a realm that lives
	 */
	endRestricted: write<(id: string) => number>({ inBatches: true }),
	/** Finds deleted realms of which some of that is left. */
	unended: scan<() => string[]>(),
	/** Brings back a realm that was deleted after the instant, under this slug and with its bindings and secrets. */
	restore:
		write<
			(
				input: Pick<Realm, "id" | "slug" | "user_id"> & Pick<Restorable, "since">,
				event: AuditEvent,
			) => "done" | "slug_taken" | "not_found"
		>(),
};

/** The store's part for realms. */
export type RealmStore = Port<typeof realmOperations>;
