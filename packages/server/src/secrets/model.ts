import * as v from "valibot";
import type { KeySet } from "../audit/key-parts.ts";
import type { AuditEvent, EventData } from "../audit/model.ts";
import { PORTABLE_PREFIX } from "../crypto/seal.ts";
import { atMost, Environment, errorMessage, instantOf, PlainText, RequiredText } from "../messages.ts";
import { type Port, read, scan, write } from "../operation.ts";

/** Bytes of UTF-8 in a value. Design: §7.2. */
export const MAX_VALUE_BYTES = 256 * 1024;

/** Bytes that a version counts in its realm, in addition to those of its stored value. Design: §13. */
export const VERSION_BYTES = 512;

/** Versions kept of a secret, including the current one. Design: §7. */
export const MAX_VERSIONS = 20;

/** Bytes of a realm's limit for every key ever written there: the last version number of a deleted key is kept. */
export const KEY_BYTES = 256;

/** Milliseconds for which a version is kept after the next one, however full its realm is. Design: §13. */
export const SUPERSEDED_MS = 60_000;

const KEY_RULE = "key must be 1 to 255 of A-Z a-z 0-9 _ . - / with no segment . or ..";

/** A secret's key. Design: §7.2. */
export const SecretKey = v.pipe(
	RequiredText,
	v.regex(/^(?!(?:.*\/)?\.{1,2}(?:\/|$))[A-Za-z0-9_.\-/]{1,255}$/, errorMessage("validation_failed", KEY_RULE)),
);

const VersionNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(1));

/** Spec: API › Secrets and encryption. Design: §7.2 has if_version, which is ours. */
export const SetSecret = v.pipe(
	v.object({
		key: SecretKey,
		value: v.pipe(RequiredText, atMost(MAX_VALUE_BYTES, "value")),
		environment: v.nullish(Environment, "dev"),
		comment: v.nullish(v.pipe(PlainText, atMost(1024, "comment")), ""),
		expires_at: v.nullish(instantOf("expires_at")),
		pre_encrypted: v.nullish(v.boolean(), false),
		if_version: v.optional(v.nullable(VersionNumber)),
	}),
	v.check(
		(input) => !input.pre_encrypted || input.value.startsWith(PORTABLE_PREFIX),
		errorMessage("invalid_ciphertext", "value must begin with svc:v1: when pre_encrypted is true"),
	),
);

export type SetSecret = v.InferOutput<typeof SetSecret>;

/** Spec: API › Secrets and encryption. */
export const Encrypt = v.object({ value: v.pipe(RequiredText, atMost(MAX_VALUE_BYTES, "value")) });

/** Design: §7.1. */
export const Rollback = v.object({ version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) });

const PAIR_RULE = errorMessage("validation_failed", "from and to must be two environments");

/** Two environments to compare. */
export const Diff = v.pipe(
	v.object({ from: Environment, to: Environment }),
	v.check(({ from, to }) => from !== to, PAIR_RULE),
);

/** Maximum number of secrets promoted at once. */
const MAX_PROMOTED = 1000;

/** Secrets to copy. A named version must be the current one; null means that there must be none. */
export const Promote = v.pipe(
	v.object({
		from: Environment,
		to: Environment,
		secrets: v.pipe(
			v.array(
				v.object({
					key: SecretKey,
					from_version: v.optional(VersionNumber),
					to_version: v.optional(v.nullable(VersionNumber)),
				}),
			),
			v.minLength(1, errorMessage("missing_field", "secrets must name at least one secret")),
			v.maxLength(MAX_PROMOTED, errorMessage("validation_failed", `secrets must name at most ${MAX_PROMOTED} secrets`)),
			v.check(
				(secrets) => new Set(secrets.map(({ key }) => key)).size === secrets.length,
				errorMessage("validation_failed", "secrets must name each key once"),
			),
		),
	}),
	v.check(({ from, to }) => from !== to, PAIR_RULE),
);

export type Promote = v.InferOutput<typeof Promote>;

/** A key in a comparison of two environments. */
export interface Difference {
	key: string;
	status: "only_in_from" | "only_in_to" | "different" | "equal";
	/** Null where the key is missing. */
	from_version: number | null;
	to_version: number | null;
	/** ISO 8601 UTC; null where the key is missing or does not expire. */
	from_expires_at: string | null;
	to_expires_at: string | null;
}

/** A stored version of a secret; the value is sealed. */
export interface SecretVersion {
	/** Row id; the seal is bound to it, among others. */
	id: string;
	realm_id: string;
	environment: Environment;
	key: string;
	version: number;
	/** Sealed text. */
	value: Buffer;
	/** True if the caller sealed the text: a reading opens it once more. */
	pre_encrypted: boolean;
	comment: string;
	/** ISO 8601 UTC. */
	expires_at: string | null;
	created_by: string;
	/** Time when this version was written: the secret's updated_at while it is the current one. */
	created_at: string;
}

/** A version to be written. */
export interface NewVersion extends Omit<SecretVersion, "version"> {
	/** Bytes that its realm may hold, unless the owner's account has its own limit. */
	realm_bytes: number;
	/** The required current version; null if there must be none, absent if any will do. */
	if_version?: number | null;
}

/** Reason why nothing was written: the realm was deleted meanwhile, or has no room. */
export type NotWritten = "realm_gone" | "limit_reached";

/** Reference to a version, and the length of its sealed value. */
export interface VersionRef {
	/** Number of the secret, larger than that of every secret created earlier. */
	secret_id: number;
	version: number;
	bytes: number;
}

/** A current version in a list, without its value. */
export interface ListedVersion
	extends VersionRef,
		Pick<SecretVersion, "environment" | "key" | "expires_at" | "created_at"> {
	/** Its position in the order of the list, as a text that only the store reads. */
	position: string;
}

/** A version in a history. */
export interface VersionInfo {
	version: number;
	created_at: string;
	created_by: string;
	comment: string;
	/** ISO 8601 UTC. */
	expires_at: string | null;
}

/** A secret on its way to another environment. */
export interface Promoted {
	row: NewVersion;
	/** Facts of its event, in addition to those that all the events share. */
	facts: EventData;
	/** The version that was read, which must still be the current one. */
	from: { environment: Environment; version: number };
	/** The required current version there; null if there must be none, absent if any will do. */
	to_version?: number | null;
}

/** Days for which a deleted secret can be restored. Design: §15 */
export const RESTORABLE_DAYS = 30;

/** Design: §15. */
export const Restore = v.object({ id: v.optional(RequiredText) });

/** A secret that was deleted and can be restored. */
export interface DeletedSecret {
	/** Id of the deletion. */
	id: string;
	realm_id: string;
	environment: Environment;
	key: string;
	/** Its version when it was deleted. */
	version: number;
	/** User who deleted it. */
	deleted_by: string;
	/** ISO 8601 UTC. */
	deleted_at: string;
}

/** Operations of the store on secrets. */
export const secretOperations = {
	/**
	 * Writes the next version, keeps the last 20, and puts the version into the event. In a full realm it drops as many of the oldest versions of
	 * this key and environment as are needed, but none that was superseded in the last minute. `changed` when the current version is not the required one.
	 */
	set: write<
		(input: NewVersion, event: AuditEvent) => { version: number; created_at: string } | NotWritten | "changed"
	>({ forgets: ["secrets"] }),
	/** Writes all of them as `set` does, or none: `changed` when a version is not the required one. */
	promote: write<
		(secrets: Promoted[], event: AuditEvent) => { version: number; created_at: string }[] | NotWritten | "changed"
	>({ forgets: ["secrets"] }),
	/** Finds the current version. */
	get: read<(realm_id: string, environment: Environment, key: string) => SecretVersion | undefined>({
		in: "secrets",
		by: 3,
		bytesOf: ({ value }) => value.length,
	}),
	version:
		read<(realm_id: string, environment: Environment, key: string, version: number) => SecretVersion | undefined>(),
	/** Lists current versions of one environment or all, in order of creation. @param after a position, or "" for the start */
	list: read<
		(realm_id: string, environment: Environment | undefined, after: string, limit: number) => ListedVersion[]
	>(),
	/**
	 * Lists all current versions of an environment, in order of creation, each as secret_id, version and bytes.
	 * @param expired_by leaves out those that had expired by then
	 */
	currentVersions: scan<(realm_id: string, environment: Environment, expired_by: string) => Float64Array>(),
	/** Lists all current versions of two environments, by key: secret_id, version and bytes of each, zeros where there is none. */
	pairs: scan<(realm_id: string, from: Environment, to: Environment, expired_by: string) => Float64Array>(),
	/** Names the keys of secrets, given their numbers, as a set whose stored parts have no keys; undefined when a secret is gone. */
	keySet: scan<(secret_ids: Float64Array) => KeySet | undefined>(),
	/** Reads the versions at these references; undefined for those that are gone. */
	versionsAt: read<(refs: readonly VersionRef[]) => (SecretVersion | undefined)[]>(),
	count: scan<(realm_id: string, environment: Environment | undefined) => number>(),
	/** Lists versions by number, newest first. @param before a version, or undefined to begin with the newest */
	history:
		read<
			(
				realm_id: string,
				environment: Environment,
				key: string,
				before: number | undefined,
				limit: number,
			) => VersionInfo[]
		>(),
	countHistory: read<(realm_id: string, environment: Environment, key: string) => number>(),
	/** Counts current values that expire, or expired, before the instant, up to a number. */
	countExpiring: scan<(before: string, most: number) => number>(),
	/** Puts the secret and its history aside, to be restored or purged; the number continues if the key is written again. */
	remove: write<(input: Omit<DeletedSecret, "version">, event: AuditEvent) => boolean>({ forgets: ["secrets"] }),
	/**
	 * Brings a deleted secret back with its history, numbered from the key's next version on: the newest deletion, unless its id is given.
	 * @param input only those that were deleted after `since`
	 */
	restore: write<
		(
			input: Pick<DeletedSecret, "realm_id" | "environment" | "key"> & { id: string | undefined; since: string },
			event: AuditEvent,
		) => { version: number; created_at: string; updated_at: string } | "lives" | "not_found"
	>({ forgets: ["secrets"] }),
	/** Lists what was deleted after `since` in one environment or all, in the order of deletion. @param after an id, or "" for the start */
	deleted:
		scan<
			(
				realm_id: string,
				environment: Environment | undefined,
				since: string,
				after: string,
				limit: number,
			) => DeletedSecret[]
		>(),
	/**
	 * Permanently removes a part of a key's deleted secrets: those deleted by the instant `by`, and the living one unless `only_deleted`.
	 * @returns how many secrets; 0 when none is left, and then there is no event
	 */
	purge: write<
		(
			input: Pick<DeletedSecret, "realm_id" | "environment" | "key"> & { by: string; only_deleted: boolean },
			event: AuditEvent,
		) => number
	>({ forgets: ["secrets"] }),
	/** Permanently removes secrets of all realms that were deleted by the instant, in parts. Each has an event like the given one, in its realm. @returns how many */
	purgeDeleted: write<(by: string, event: AuditEvent) => number>({ forgets: [], events: 0, inBatches: true }),
	countDeleted: scan<(realm_id: string, environment: Environment | undefined, since: string) => number>(),
};

/** The store's part for secrets. */
export type SecretStore = Port<typeof secretOperations>;
