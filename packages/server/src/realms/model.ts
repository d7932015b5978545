import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import type { Filled } from "../limits.ts";
import { atMost, errorMessage, PlainText, RequiredPlainText, RequiredText } from "../messages.ts";
import { type Port, read, scan, write } from "../operation.ts";
import type { Role } from "../policy/model.ts";

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

/** Spec: API › Realms. */
export const CreateRealm = v.object({
	slug: Slug,
	name: v.pipe(RequiredPlainText, atMost(255, "name")),
	description: v.nullish(v.pipe(PlainText, atMost(2048, "description")), ""),
});

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

/** A realm to be made. */
export interface NewRealm {
	realm: Realm;
	/** Its record key. */
	key: KeyRow;
	/** Realms that an account may own, unless it has its own limit. */
	realms_per_account: number;
}

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

/** Limits of rows. */
export type RowLimit =
	| "accounts"
	| "realm_bytes"
	| "realms_per_account"
	| "bindings_per_realm"
	| "tokens_per_account"
	| "sessions_per_account"
	| "identities_per_account";

/** For each limit, the realms or accounts that used the largest share of it, fullest first; deleted realms count. */
export type Fullest = Record<RowLimit, Filled[]>;

/** Operations of the store on realms. No read sees deleted realms. */
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
	/** Soft-deletes it; false when it was not live. */
	remove: write<(input: { id: string; deleted_at: string }, event: AuditEvent) => boolean>(),
	/** Finds realms deleted before the instant. */
	deletedBefore: read<(instant: string) => { id: string; slug: string }[]>(),
	/** Finds the realms and accounts nearest to their limits at the instant, among all. */
	fullest: scan<(input: { max: Record<RowLimit, number>; now: string }) => Fullest>(),
	/** Removes a deleted realm's contents, in parts. The realm and its keys stay until it is purged. @returns how many rows */
	empty: write<(id: string) => number>({ inParts: true }),
	/** Removes a deleted realm with all rows and record keys. */
	purge: write<(id: string, event: AuditEvent) => boolean>(),
};

/** The store's part for realms. */
export type RealmStore = Port<typeof realmOperations>;
