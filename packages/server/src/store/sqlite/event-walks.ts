/** Yields the numbers of some events below one, newest first. @throws TookTooLong, at a number below all that it yielded */
export type Walk = (below: number) => Generator<number>;

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

/** Highest number of events looked up together. */
export const MOST_LOOKED_UP = 4096;

/** Groups numbers down to the first one, few at the beginning: most pages need no more. An error comes behind the numbers before it. */
export function* inGroups(seqs: Iterable<number>, first: number, size: number): Generator<number[]> {
	let group: number[] = [];
	let most = size;
	let failure: unknown;
	try {
		for (const seq of seqs) {
			if (seq < first) break;
			group.push(seq);
			if (group.length < most) continue;
			yield group;
			group = [];
			most = Math.min(MOST_LOOKED_UP, most * 4);
		}
	} catch (error) {
		failure = error;
	}
	if (group.length > 0) yield group;
	if (failure !== undefined) throw failure;
}
