import { append, type Port, scan, write } from "../operation.ts";
import type { Actor, Maker } from "../policy/model.ts";

/** Every type of event. Spec: API › Events. Design: §10. */
const EVENT_TYPES = [
	"auth.register",
	"auth.login",
	"auth.login.failed",
	"auth.logout",
	"auth.password.changed",
	"auth.token.created",
	"auth.token.revoked",
	"sso.provider.set",
	"sso.provider.deleted",
	"sso.identity.linked",
	"sso.identity.unlinked",
	"user.disabled",
	"user.enabled",
	"user.limits.set",
	"realm.created",
	"realm.deleted",
	"realm.purged",
	"secret.set",
	"secret.delete",
	"secret.read",
	"secret.list",
	"secret.diff",
	"secret.sync",
	"secret.rollback",
	"policy.binding.created",
	"policy.binding.deleted",
	"access.denied",
	"access.revoked",
	"audit.verified",
	"encrypt",
	"engine.config.set",
	"engine.config.deleted",
	"engine.generate",
	"engine.validate",
	"engine.error",
	"lease.created",
	"lease.aborted",
	"lease.revoking",
	"lease.revoked",
	"lease.revoke_failed",
	"lease.abandoned",
	"lease.lost",
	"lease.zombie",
	"lease.orphan",
	"lease.resumed",
	"clock.jump",
	"key.created",
	"key.rotated",
	"backup.created",
	"backup.failed",
	"backup.downloaded",
	"backup.restored",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Flat facts of an event: names and numbers, never a value, a password, a token or a comment. What is undefined is left out. */
export type EventData = Record<string, string | number | boolean | undefined>;

/** An event as it is handed to the store; sequence number, hash and id are given to it in the transaction. */
export interface AuditEvent {
	/** ISO 8601 UTC. */
	timestamp: string;
	type: EventType;
	/** User id, or the e-mail that was tried when nobody has it. */
	actor: string;
	/** Empty when the event belongs to no realm. */
	realm_id: string;
	realm: string;
	data: EventData;
	/** Who must still stand for the change to be made; it is not written down. Absent when nobody asked for it, or nobody who is signed in. */
	maker?: Maker;
	/** The account that causes it, or the address of whoever is not signed in; it is not written down. Absent for what the server does by itself. */
	cause?: string;
}

/** An event as it is stored. */
export interface StoredEvent {
	seq: number;
	timestamp: string;
	type: string;
	actor: string;
	realm_id: string;
	realm: string;
	/** JSON text of the event's facts. */
	data: string;
	/** SHA-256 over the previous hash and every field: see chain.ts. */
	hash: Buffer;
}

/** A signed statement that the chain had this hash at this event. */
export interface Checkpoint {
	seq: number;
	timestamp: string;
	hash: Buffer;
	/** Id of the signing key in the keyring. */
	key_id: Buffer;
	/** Ed25519 over the text of checkpointText. */
	signature: Buffer;
}

/** An event together with the hash that the chain had before it. */
export interface ChainedEvent extends StoredEvent {
	previous_hash: Buffer;
}

/** Events of which everything holds that is given. */
export interface EventScope {
	/** In one of these realms; the empty id stands for none. */
	realm_ids?: string[];
	type?: EventType;
	actor?: string | undefined;
}

/** What the caller may see of the log, and what it asked for. */
export interface EventQuery {
	/** What the caller may see: the events of any of these. */
	scopes: EventScope[];
	/** Only events that say they belong to this realm. */
	realm: string | undefined;
	type: string | undefined;
	/** Any of these actors: a user's id and e-mail. */
	actors: string[] | undefined;
	/** Only events at this instant and later, ISO 8601 UTC. */
	since?: string | undefined;
	/** Only events earlier than this instant. */
	until?: string | undefined;
	/** Only events before this one. */
	before: number | undefined;
	limit: number;
}

/** A stretch of what a caller may see, in the order of the chain: events after one, up to and with another. */
export interface ExportQuery extends Omit<EventQuery, "before"> {
	after: number;
	last: number;
}

/** Operations of the store on the log. */
export const auditOperations = {
	/** Appends events that stand alone: reads and denials. Resolves once they are durable. */
	append: append<(event: AuditEvent) => void>(),
	/** Appends the event of what is given away next, or done outside the database, if its maker still may. */
	record: write<(event: AuditEvent) => void>({ forgets: [] }),
	addCheckpoint: write<(checkpoint: Checkpoint) => void>({ forgets: [] }),
	list: scan<(query: EventQuery) => StoredEvent[]>(),
	count: scan<(query: EventQuery) => number>(),
	/** Oldest first. */
	export: scan<(query: ExportQuery) => ChainedEvent[]>(),
	checkpoints: scan<() => Checkpoint[]>(),
	/** Recomputes the whole chain and compares it with hashes that are known from elsewhere. */
	verify: scan<(anchors: Anchor[]) => ChainReport>(),
};

/** The store's part for the audit log. */
export type AuditStore = Port<typeof auditOperations> & {
	/** Sequence number and hash of the newest event. */
	tip(): { seq: number; hash: Buffer };
};

/** A hash that the chain is known to have had at an event. */
export interface Anchor {
	seq: number;
	hash: Buffer;
}

/** What recomputing the chain showed. */
export interface ChainReport {
	/** `altered`: an event, or the order, is not what was hashed. `truncated`: the chain ends before an anchor. */
	status: "intact" | "altered" | "truncated";
	/** Events read. */
	events: number;
	/** First event that is not as it was, or the first one missing. */
	seq: number | undefined;
	last: { seq: number; hash: Buffer };
}

/** The realm an event belongs to. */
export interface RealmRef {
	id: string;
	slug: string;
}

/**
 * Builds an event of a signed-in caller: every event carries the request, the source address and the API token used. The change that it
 * belongs to is made only if the caller still may.
 * @param data facts of the event, by type as in Design §10
 */
export function eventBy(
	actor: Actor,
	now: Date,
	type: EventType,
	realm: RealmRef | undefined,
	data: EventData,
): AuditEvent {
	const event = noteBy(actor, now, type, realm, data);
	event.maker = makerOf(actor);
	return event;
}

/** Names who makes a change. */
export function makerOf({ user_id, jti, token_id, grants }: Actor): Maker {
	return { user_id, jti, token_id, grants };
}

/** Builds an event of what happened because of a caller, and is true whether that caller still may ask for it or not. */
export function noteBy(
	actor: Actor,
	now: Date,
	type: EventType,
	realm: RealmRef | undefined,
	data: EventData,
): AuditEvent {
	return {
		timestamp: now.toISOString(),
		type,
		actor: actor.user_id,
		realm_id: realm?.id ?? "",
		realm: realm?.slug ?? "",
		data: { ...data, request_id: actor.request_id, ip: actor.ip, token_id: actor.token_id },
		cause: actor.user_id,
	};
}

/** A caller who has not signed in. */
export interface Visitor {
	request_id: string;
	ip: string;
}

/** Builds an event of somebody who has not signed in, which belongs to no realm. @param actor user id, or what was tried */
export function visitorEvent(
	{ request_id, ip }: Visitor,
	now: Date,
	type: EventType,
	actor: string,
	data: EventData,
): AuditEvent {
	const facts = { ...data, request_id, ip };
	// What somebody tried may hold U+0000, which not every store takes.
	const named = actor.replaceAll("\0", "\ufffd");
	return { timestamp: now.toISOString(), type, actor: named, realm_id: "", realm: "", data: facts, cause: ip };
}
