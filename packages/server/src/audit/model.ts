import type { CallerKeys } from "../fair-queue.ts";
import { append, type Port, read, scan, write } from "../operation.ts";
import type { Actor, Maker } from "../policy/model.ts";
import { keysOf } from "../semaphore.ts";
import type { Comparison } from "./comparison.ts";
import type { DayCounts, DayRange, DayReads, EventQuery, EventRange, ReadKey } from "./event-query.ts";
import type { EventType } from "./event-types.ts";
import type { KeyPart, KeySet, NamedKeys } from "./key-parts.ts";

/** Flat facts of an event: names and numbers, never a value, a password, a token or a comment. Undefined ones are left out. */
export type EventData = Record<string, string | number | boolean | undefined>;

/** An event as it is passed to the store; the transaction assigns its sequence number, hash and id. */
export interface AuditEvent {
	/** ISO 8601 UTC. */
	timestamp: string;
	type: EventType;
	/** User id, or the e-mail that was tried if it has no account. */
	actor: string;
	/** Empty when the event belongs to no realm. */
	realm_id: string;
	realm: string;
	data: EventData;
	/** The signed-in caller who must still be entitled to the change; not stored. Absent when no signed-in caller asked for it. */
	maker?: Maker;
	/** The keys of its caller, or the address of a visitor who is not signed in; not stored. Absent for the server's own actions. */
	cause?: CallerKeys;
}

/** An event as it is stored. */
export interface StoredEvent {
	/** Number in its chain, without gaps from 1. A store may have several chains. */
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

/** An event in a list. */
export interface ListedEvent extends StoredEvent {
	/** Its position in the order of lists, as a text that only the store reads. Events of one chain are in its order. */
	position: string;
}

/** State of the log. */
export interface LogHead {
	/** Number of events. */
	events: number;
	/** Hash that covers all of them; of a log with one chain, that of the newest event. */
	hash: Buffer;
	/** Position of the newest event. */
	position: string;
}

/** A signed statement of the log's state. */
export interface Checkpoint {
	/** Number of events. */
	seq: number;
	timestamp: string;
	/** Hash that covers all of them. */
	hash: Buffer;
	/** Id of the signing key in the keyring. */
	key_id: Buffer;
	/** Ed25519 over the text of checkpointText. */
	signature: Buffer;
}

/** The newest statements about the log; undefined where there is none yet. */
export interface LatestProof {
	checkpoint: Checkpoint | undefined;
	verified: StoredEvent | undefined;
}

/** An event with its chain's hash before it. */
export interface ChainedEvent extends ListedEvent {
	previous_hash: Buffer;
}

/** Operations of the store on the log. */
export const auditOperations = {
	/** Appends events without a change: reads and denials. Resolves once they are durable. */
	append: append<(event: AuditEvent) => void>(),
	/** Appends the event of a disclosure or an action outside the database that comes next, if its maker is still entitled to it. */
	record: write<(event: AuditEvent) => void>({ forgets: [] }),
	/** Appends the event of a bulk read, if its maker is still entitled to it, and stores the set of keys that it names. Parts without keys are stored already. */
	appendNaming: write<(keys: KeySet, event: AuditEvent) => void>({ forgets: [] }),
	/** Stores parts of a set of keys that an event is about to name. */
	keepParts: write<(parts: readonly KeyPart[]) => void>({ forgets: [], events: 0 }),
	addCheckpoint: write<(checkpoint: Checkpoint) => void>({ forgets: [] }),
	head: read<() => LogHead>(),
	/** Lists events, newest first. @param before a position, or undefined to begin with the newest */
	list: scan<(query: EventQuery, before: string | undefined, limit: number) => ListedEvent[]>(),
	count: scan<(query: EventQuery) => number>(),
	/** Counts a realm's events on each day. */
	perDay: scan<(realm_id: string, range: DayRange) => DayCounts[]>(),
	/** Counts the reads of a secret's value on each day, of at most this many events of its key, from the newest. */
	readsPerDay: scan<(secret: ReadKey, range: DayRange, most: number) => DayReads>(),
	/** Lists a range of events, oldest first. */
	export: scan<(query: EventQuery, range: EventRange, limit: number) => ChainedEvent[]>(),
	/** Finds what a hash names among the sets of keys of a realm and their parts. */
	keys: scan<(realm_id: string, hash: string) => NamedKeys | undefined>(),
	/** Lists checkpoints behind a number, oldest first. */
	checkpoints: scan<(after: number, limit: number) => Checkpoint[]>(),
	/** Finds the newest checkpoint, and the event of the newest verification. */
	latest: scan<() => LatestProof>(),
	/** Recomputes the whole log, with the keys that events refer to, and compares it with all checkpoints and with states known from elsewhere. */
	verify: scan<(anchors: Anchor[]) => ChainReport>(),
	/** Compares what the rows grant with what the log granted. */
	compare: scan<() => Comparison>(),
};

/** The store's part for the audit log. */
export type AuditStore = Port<typeof auditOperations>;

/** A known state of the log. */
export interface Anchor {
	/** Number of events. */
	seq: number;
	hash: Buffer;
}

/** Result of recomputing the chain. */
export interface ChainReport {
	/** `altered`: an event, or the order, is not what was hashed. `truncated`: the chain ends before an anchor. */
	status: "intact" | "altered" | "truncated";
	/** Events read. */
	events: number;
	/** First event that was altered or is missing. */
	seq: number | undefined;
	last: { seq: number; hash: Buffer };
}

/** The realm an event belongs to. */
export interface RealmRef {
	id: string;
	slug: string;
}

/**
 * Builds an event of a signed-in caller: every event carries the request, the source address and the API token used. Its change is made
 * only if the caller is still entitled to it.
 * @param data facts of the event, by type as in Design §10
 */
export function eventBy(
	actor: Actor,
	now: Date,
	type: EventType,
	realm: RealmRef | undefined,
	data: EventData,
): AuditEvent {
	return Object.assign(noteBy(actor, now, type, realm, data), { maker: makerOf(actor) });
}

/** Names the maker of a change. */
export function makerOf({ user_id, machine, jti, token_id, grants }: Actor): Maker {
	return { user_id, machine, jti, token_id, grants };
}

/** Builds an event that a caller caused, valid even if the caller has lost access since. */
export function noteBy(
	actor: Actor,
	now: Date,
	type: EventType,
	realm: RealmRef | undefined,
	data: EventData,
): AuditEvent {
	const { request_id, ip, token_id, jti: session_id, machine } = actor;
	return {
		timestamp: now.toISOString(),
		type,
		actor: actor.user_id,
		realm_id: realm?.id ?? "",
		realm: realm?.slug ?? "",
		data: { ...data, request_id, ip, token_id, session_id, machine: machine?.name },
		cause: keysOf(actor),
	};
}

/** Builds an event that nobody requested: the server causes it. */
export function systemEvent(now: Date, type: EventType, realm: RealmRef | undefined, data: EventData): AuditEvent {
	const [realm_id, slug] = [realm?.id ?? "", realm?.slug ?? ""];
	return { timestamp: now.toISOString(), type, actor: "system", realm_id, realm: slug, data };
}

/** A caller who has not signed in. */
export interface Visitor {
	request_id: string;
	ip: string;
}

/** Builds an event of a caller who has not signed in; it belongs to no realm. @param actor user id, or the name that was tried */
export function visitorEvent(
	{ request_id, ip }: Visitor,
	now: Date,
	type: EventType,
	actor: string,
	data: EventData,
): AuditEvent {
	const facts = { ...data, request_id, ip };
	// The name that was tried may contain U+0000, which not every store accepts.
	const named = actor.replaceAll("\0", "\ufffd");
	return { timestamp: now.toISOString(), type, actor: named, realm_id: "", realm: "", data: facts, cause: [ip] };
}
