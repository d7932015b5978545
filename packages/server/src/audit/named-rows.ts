import type { Difference, When } from "./comparison.ts";
import type { StoredEvent } from "./model.ts";

/** A row as an event names it. */
interface Named {
	name: string;
	/** Undefined when the event ended it. */
	fingerprint: string | undefined;
}

/** A row that is not as the last event that names it left it. */
export interface Misnamed {
	name: string;
	problem: Difference["problem"];
	/** The last event that names it; undefined when none does. */
	by: When | undefined;
	/** The fingerprint that it kept, if it did not end the row. */
	fingerprint: string | undefined;
}

/**
 * Replays the rows that events name, in order, against the current rows. It remembers those that stand and those that were not ended, so it grows
 * with the rows, not with the log. Design: §13
 */
export class NamedRows {
	readonly #current: ReadonlyMap<string, string | undefined>;
	readonly #last = new Map<string, { fingerprint: string | undefined; by: When }>();
	#from: When | undefined;
	/** Time of the last adoption: all its events have it. */
	#adopted_at: string | undefined;

	/** @param current the fingerprint of each row by its name; undefined where its MAC does not fit */
	constructor(current: ReadonlyMap<string, string | undefined>) {
		this.#current = current;
	}

	/** Returns the event from which on all rows are named: the first one, or that of an adoption. Undefined when there is none. */
	get from(): When | undefined {
		return this.#from;
	}

	/** Takes the next event that names rows. */
	take({ seq, timestamp, type }: Pick<StoredEvent, "seq" | "timestamp" | "type">, rows: Iterable<Named>): void {
		const by = { seq, timestamp };
		const isAdopting = type === "rows.adopted";
		if (seq === 1 || isAdopting) this.#from ??= by;
		// These ends are not named: a restore comes before the log that records it, and an adoption believes what is there.
		if (type === "backup.restored") this.endRestored();
		if (isAdopting && timestamp !== this.#adopted_at) {
			this.#forget("");
			this.#adopted_at = timestamp;
		}
		for (const { name, fingerprint } of rows) {
			if (fingerprint === undefined && !this.#current.has(name)) this.#last.delete(name);
			else this.#last.set(name, { fingerprint, by });
		}
	}

	/** Ends all sessions, reset codes, recovery codes and invitations that are not there any more. */
	endRestored(): void {
		this.#forget("session/");
		this.#forget("reset_code/");
		this.#forget("recovery_codes/");
		this.#forget("invitation");
	}

	#forget(start: string): void {
		for (const name of this.#last.keys())
			if (name.startsWith(start) && !this.#current.has(name)) this.#last.delete(name);
	}

	/** Names the rows that differ. */
	*differing(): Generator<Misnamed> {
		for (const [name, fingerprint] of this.#current) {
			const last = this.#last.get(name);
			const problem = this.#problemOf(last, fingerprint);
			if (problem !== undefined) yield { name, problem, by: last?.by, fingerprint: last?.fingerprint };
		}
		for (const [name, { fingerprint, by }] of this.#last)
			if (fingerprint !== undefined && !this.#current.has(name)) yield { name, problem: "missing", by, fingerprint };
	}

	#problemOf(
		last: { fingerprint: string | undefined } | undefined,
		fingerprint: string | undefined,
	): Difference["problem"] | undefined {
		if (last === undefined) {
			if (this.#from !== undefined) return "unknown";
			return fingerprint === undefined ? "changed" : undefined;
		}
		if (last.fingerprint === undefined) return "ended";
		return last.fingerprint === fingerprint ? undefined : "changed";
	}
}
