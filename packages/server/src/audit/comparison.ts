/** The place of an event in the log. */
export interface When {
	seq: number;
	/** ISO 8601 UTC. */
	timestamp: string;
}

/** Kinds of rows that are compared. */
export const RIGHT_KINDS = [
	"account",
	"realm",
	"binding",
	"token",
	"machine",
	"machine_token",
	"trust",
	"engine",
	"provider",
	"identity",
	"session",
	"limit",
	"code",
	"factor",
	"recovery",
	"invitation",
	"key",
	"former_realm",
] as const;

/** Kinds of rows that can make an event. */
export const MAKER_KINDS = [
	"account",
	"token",
	"session",
	"machine",
	"machine_token",
] as const satisfies readonly (typeof RIGHT_KINDS)[number][];

/** A row that differs from the log. */
export interface Difference {
	kind: (typeof RIGHT_KINDS)[number];
	/** Id of the row; of a binding the ids of realm and user, of an engine's configuration its engine and realm. */
	id: string;
	/** The name that people know, where there is one. */
	name?: string | undefined;
	/** `unknown`: no event granted it. `ended`: an event took it back. `changed`: an event says something else. `missing`: it should be there. */
	problem: "unknown" | "ended" | "changed" | "missing";
	/** The event that says otherwise, and its time; undefined when none does. */
	seq: number | undefined;
	since: string | undefined;
}

/** An event whose account, machine, token or session was not there to make it. */
export interface StrangeEvent extends When {
	type: string;
	kind: (typeof MAKER_KINDS)[number];
	/** Id of that account, machine, token or session. */
	id: string;
	/** `ended`: it had ended. `unknown`: no event before had made it. */
	problem: "ended" | "unknown";
	/** The event that had ended it, and its time; undefined when it ended by itself. */
	ended_by: number | undefined;
	since: string | undefined;
}

/** Result of comparing the rows with the log. */
export interface Comparison {
	differences: Difference[];
	/** Events whose makers had ended, or were not there yet. */
	strange: StrangeEvent[];
	/** The event from which on the log names every row: the first one, or that of an adoption. */
	named_from: When | undefined;
}
