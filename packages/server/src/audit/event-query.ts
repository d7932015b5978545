import type { EventType } from "./model.ts";

/** Events that match every given field. */
export interface EventScope {
	/** One of these realms; the empty id stands for none. */
	realm_ids?: string[];
	/** A live realm that this user owns or has a role in. */
	member_id?: string;
	type?: EventType;
	actor?: string | undefined;
}

/** Query of the log: the events that the caller may see, and the filter. */
export interface EventQuery {
	/** Events that the caller may see: those in any of these scopes. */
	scopes: EventScope[];
	/** Only events that name this realm. */
	realm: string | undefined;
	/** Only events of this type; one that ends in `.*` stands for all that begin so. */
	type: string | undefined;
	/** Only events of these actors: a user's id and e-mail. */
	actors: string[] | undefined;
	/** Only events of the secrets with this key, bulk reads of them included. */
	key?: string | undefined;
	/** Only events that this token caused, by its id. */
	token?: string | undefined;
	/** Only events at this instant and later, ISO 8601 UTC. */
	since?: string | undefined;
	/** Only events earlier than this instant. */
	until?: string | undefined;
}

/** A range of the log, by positions. */
export interface EventRange {
	/** Begins behind this event; undefined for the first one. */
	after: string | undefined;
	/** Ends with this event. */
	last: string;
}
