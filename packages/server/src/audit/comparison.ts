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
	"engine",
	"provider",
	"identity",
	"session",
	"limit",
	"key",
	"former_realm",
] as const;

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

/** What a comparison of the rows with the log found. */
export interface Comparison {
	differences: Difference[];
	/** The event from which on the log names every row: the first one, or that of an adoption. */
	named_from: When | undefined;
}
