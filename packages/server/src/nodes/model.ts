import { type Port, read, write } from "../operation.ts";

/** Milliseconds between two signs of life of a node. */
export const BEAT_MS = 2000;

/** Milliseconds without one after which a node counts as silent: stopped, asleep, or cut off from the database. */
export const SILENT_MS = 10_000;

/** Maximum number of nodes in a list. */
export const MAX_NODES = 100;

/** Maximum number of alterations that servers report to each other. */
export const MAX_ALTERATIONS = 20;

/** A server that uses the store, from its start to its end: a restart makes another node. Design: §14 */
export interface OwnNode {
	id: string;
	/** Name of its machine. */
	name: string;
	version: string;
	/** URL that it is reached at. */
	address: string;
	/** ISO 8601 UTC, by its own clock. */
	started_at: string;
}

/** Master keys that a server has, by their fingerprints. */
export interface ReportedKeys {
	/** The one that it uses. */
	master_key: string;
	/** The one that it has found for the next rotation; empty when there is none. */
	next_master_key: string;
}

/** Work that one server does for all that share the store. */
type Duty = "checkpoints" | "purges" | "sweeps";

/** Distribution of such work. */
export interface Duties {
	/** Takes a duty, or keeps it; false while another server has it and lives. */
	take(duty: Duty): Promise<boolean>;
}

/** Duties of a server that no other shares the store with. */
export const OWN_DUTIES: Duties = { take: async () => true };

/** A node as the store knows it. */
export interface Node extends OwnNode, ReportedKeys {
	/** Its last sign of life, ISO 8601 UTC by the store's clock. */
	seen_at: string;
	status: "active" | "silent";
}

/** Name of a text that all servers of a store have in common. */
export type CommonText = "certificate" | "setup_code";

/** Declares that a change voids no remembered answer and has no event. */
const UNNOTED = { forgets: [], events: 0 } as const;

/** Operations of the store on texts that its servers have in common, each sealed. */
export const commonOperations = {
	text: read<(name: CommonText) => string | undefined>(),
	/** Stores a text, unless there is one. @returns the one that is stored */
	keep: write<(name: CommonText, sealed: string) => string>(UNNOTED),
	/** Removes a text. @returns false when there was none */
	drop: write<(name: CommonText) => boolean>(UNNOTED),
};

/** The store's part for such texts. */
export type CommonStore = Port<typeof commonOperations>;
