import type { Database } from "better-sqlite3";
import { createStatements } from "./statements.ts";
import { allInTime, IN_TIME } from "./time-limit.ts";

/** Yields the numbers of some events below one, newest first. @throws TookTooLong, at a number below all that it yielded */
export type Walk = (below: number) => Generator<number>;

/** Columns of the log whose index has the numbers of each value's events in order. */
const INDEXES = { actor: "audit_event_by_actor", realm_id: "audit_event_by_realm" } as const;

/** Numbers of one value's events that are read together, at first and at most. */
const FIRST = 64;
const MOST = 4096;

/** Makes walks through the events of some actors or realms. */
export function indexWalks(db: Database): (column: keyof typeof INDEXES, values: readonly string[]) => Walk {
	const prepare = createStatements(db);
	return (column, values) => {
		const page = `SELECT seq FROM audit_event INDEXED BY ${INDEXES[column]} WHERE ${IN_TIME} AND ${column} = ? AND seq < ? ORDER BY seq DESC LIMIT ?`;
		const read = (value: string, below: number, limit: number) =>
			allInTime((before) => prepare(page).pluck().all(value, before, limit) as number[], below);
		return merged(values.map((value) => (below) => numbers((before, limit) => read(value, before, limit), below)));
	};
}

function* numbers(read: (below: number, limit: number) => number[], below: number): Generator<number> {
	for (let limit = FIRST; ; limit = Math.min(MOST, limit * 4)) {
		const found = read(below, limit);
		yield* found;
		const last = found.at(-1);
		if (last === undefined || found.length < limit) return;
		below = last;
	}
}

/** A walk that is under way. */
class Head {
	readonly #walk: Walk;
	#rest: Generator<number>;
	/** The newest number that is left; undefined at the end. */
	seq: number | undefined;

	constructor(walk: Walk, below: number) {
		this.#walk = walk;
		this.#rest = walk(below);
		this.next();
	}

	next(): void {
		const { value, done } = this.#rest.next();
		this.seq = done === true ? undefined : value;
	}

	/** Goes on below a number. */
	skipTo(below: number): void {
		this.end();
		this.#rest = this.#walk(below);
		this.next();
	}

	/** Frees the statements of the walk. */
	end(): void {
		this.#rest.return(undefined);
	}
}

/** Joins walks: each number once. */
export function merged(walks: readonly Walk[]): Walk {
	return function* (below) {
		const heads = walks.map((walk) => new Head(walk, below));
		try {
			for (;;) {
				const newest = heads.reduce((most, { seq = -1 }) => Math.max(most, seq), -1);
				if (newest < 0) return;
				yield newest;
				for (const head of heads) if (head.seq === newest) head.next();
			}
		} finally {
			for (const head of heads) head.end();
		}
	};
}

/** Numbers in a row that only one of two walks has, after which the one that is behind skips to the other. */
const PATIENCE = 256;

/** Yields the numbers that two walks share. */
export function shared(first: Walk, second: Walk): Walk {
	return function* (below) {
		const [one, other] = [new Head(first, below), new Head(second, below)];
		try {
			for (let missed = 1; one.seq !== undefined && other.seq !== undefined; missed++) {
				if (one.seq === other.seq) {
					yield one.seq;
					one.next();
					other.next();
					missed = 0;
					continue;
				}
				const [behind, ahead] = one.seq > other.seq ? [one, other.seq] : [other, one.seq];
				if (missed % PATIENCE === 0) behind.skipTo(ahead + 1);
				else behind.next();
			}
		} finally {
			one.end();
			other.end();
		}
	};
}
