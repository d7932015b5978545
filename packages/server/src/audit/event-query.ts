import type { Environment } from "../messages.ts";
import type { EventType } from "./event-types.ts";

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
	/** Only events that name this realm by its slug, */
	realm: string | undefined;
	/** or that are of this one, which may have had another slug then. */
	realm_id?: string | undefined;
	/** Only events of this type; one that ends in `.*` stands for all types that begin with the rest. */
	type: string | undefined;
	/** Only events of these actors: a user's id and e-mail. */
	actors: string[] | undefined;
	/** Only events of the secrets with this key, bulk reads of them included. */
	key?: string | undefined;
	/** Only events that name this environment: a list of all environments counts, and so does a comparison or promotion from or to it. */
	environment?: Environment | undefined;
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

/** Days of UTC, the oldest first, each by its first instant; the last one ends at `end`. ISO 8601 UTC. */
export interface DayRange {
	starts: readonly string[];
	end: string;
}

/** Counts of a realm's events on one day. */
export interface DayCounts {
	events: number;
	/** Those of them that refused somebody something. */
	denials: number;
}

/** A secret whose reads are counted, as a member of its realm sees them. */
export interface ReadKey {
	member_id: string;
	realm_id: string;
	/** Slug of the realm. */
	realm: string;
	key: string;
	environment: string;
}

/** Counts of reads, a number for each day of the range that was looked at whole: the last ones, where there are too many to count. */
export interface DayReads {
	reads: number[];
	/** Some days of the range were left out. */
	isCut: boolean;
}
