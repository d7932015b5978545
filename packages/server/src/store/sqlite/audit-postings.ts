import type { Database } from "better-sqlite3";
import { BLOCK, type Termed, termsOf } from "./audit-blocks.ts";
import { createStatements } from "./statements.ts";
import { allInTime, IN_TIME } from "./time-limit.ts";

/** Finds events by their terms and by their time. */
export interface AuditPostings {
	/** Yields the numbers below one of the events that have any of these terms, newest first. @throws TookTooLong, at a number below all that it yielded */
	walk(terms: readonly string[], below: number): Generator<number>;
	/** Counts the events of a term from a number on and below another. @throws TookTooLong */
	count(term: string, from: number, below: number): number;
	/** Finds a number with no event of this time or later before it, at most a block too low. @param time ISO 8601 UTC */
	firstSince(time: string): number;
	/** Finds a number with no earlier event from it on, at most a block too high. @param time ISO 8601 UTC */
	endBefore(time: string): number;
}

const INDEXED = `SELECT coalesce(max(block) + 1, 0) * ${BLOCK} FROM audit_block`;
const FIRST = "SELECT block FROM audit_block WHERE latest >= ? ORDER BY latest, block LIMIT 1";
const LAST = "SELECT max(block) FROM audit_block WHERE earliest < ?";
const IN_TAIL = `SELECT 1 FROM audit_event NOT INDEXED WHERE ${IN_TIME} AND seq >= ? AND timestamp < ? LIMIT 1`;
const TAIL = `SELECT seq, type, actor, realm_id, realm, data FROM audit_event NOT INDEXED WHERE ${IN_TIME} AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ${BLOCK}`;
const POSTINGS = "SELECT block, offsets FROM audit_posting WHERE term = ? AND block <= ? ORDER BY block DESC LIMIT ?";
const COUNT =
	"SELECT coalesce(sum(length(offsets)), 0) FROM audit_posting WHERE (block & 1023 OR in_time(block)) AND term = ? AND block >= ? AND block < ?";

/** Highest number of blocks of one term read together. */
const MOST_BLOCKS = 64;

/** The events of one term, newest first. */
interface Run {
	readonly term: string;
	/** Numbers that are known, the lowest first. */
	ahead: number[];
	/** Blocks to read next. */
	limit: number;
}

/** Makes the questions about blocks, and about the events behind the last one. They see what the connection sees when each is asked. */
export function auditPostings(db: Database): AuditPostings {
	const prepare = createStatements(db);
	const merge = merger(prepare);
	const indexed = () => prepare(INDEXED).pluck().get() as number;

	/** Yields the numbers from one event on, which no block has yet. */
	function* behind(first: number, terms: ReadonlySet<string>, below: number): Generator<number> {
		for (;;) {
			const read = (before: number) => prepare(TAIL).all(first, before) as (Termed & { seq: number })[];
			const events = allInTime(read, below);
			for (const event of events) if (termsOf(event).some((term) => terms.has(term))) yield event.seq;
			const last = events.at(-1);
			if (last === undefined || events.length < BLOCK) return;
			below = last.seq;
		}
	}

	/** @param from where the events behind the last block are looked at no further */
	function* walk(terms: readonly string[], below: number, from = 0): Generator<number> {
		const first = indexed();
		const wanted = new Set(terms);
		yield* behind(Math.max(first, from), wanted, below);
		yield* merge(wanted, Math.min(first, below));
	}

	function countSingly(term: string, from: number, below: number): number {
		if (from >= below) return 0;
		let counted = 0;
		for (const seq of walk([term], below, from)) {
			if (seq < from) break;
			counted++;
		}
		return counted;
	}

	return {
		walk: (terms, below) => walk(terms, below),
		count(term, from, below) {
			const [start, end] = [Math.ceil(from / BLOCK), Math.floor(Math.min(below, indexed()) / BLOCK)];
			if (start >= end) return countSingly(term, from, below);
			const whole = prepare(COUNT).pluck().get(term, start, end) as number;
			return countSingly(term, from, start * BLOCK) + whole + countSingly(term, end * BLOCK, below);
		},
		firstSince(time) {
			const block = prepare(FIRST).pluck().get(time) as number | undefined;
			return block === undefined ? indexed() : block * BLOCK;
		},
		endBefore(time) {
			const first = indexed();
			if (prepare(IN_TAIL).get(first, time) !== undefined) return Number.MAX_SAFE_INTEGER;
			const block = prepare(LAST).pluck().get(time) as number | null;
			return block === null ? 0 : (block + 1) * BLOCK;
		},
	};
}

/** Makes the walk through the blocks' events of some terms below a number. An event can have two of the terms. */
function merger(
	prepare: ReturnType<typeof createStatements>,
): (terms: Iterable<string>, below: number) => Generator<number> {
	/** Reads a run's next numbers below one. @returns false when there is none */
	function refill(run: Run, below: number): boolean {
		prepare("SELECT in_time(?)").get(below - 1);
		for (let block = Math.floor((below - 1) / BLOCK); ; ) {
			const rows = prepare(POSTINGS).all(run.term, block, run.limit) as { block: number; offsets: Buffer }[];
			run.ahead = rows.reverse().flatMap((row) => numbersIn(row).filter((seq) => seq < below));
			run.limit = Math.min(MOST_BLOCKS, run.limit * 4);
			const [oldest] = rows;
			if (oldest === undefined || run.ahead.length > 0) return run.ahead.length > 0;
			block = oldest.block - 1;
		}
	}

	return function* merge(terms: Iterable<string>, below: number): Generator<number> {
		const all = [...terms].map((term): Run => ({ term, ahead: [], limit: 1 }));
		const runs = all.filter((run) => refill(run, below));
		runs.sort((one, other) => head(one) - head(other));
		let last = below;
		for (let newest = runs.pop(); newest !== undefined; newest = runs.pop()) {
			const seq = newest.ahead.pop() ?? 0;
			if (seq < last) yield seq;
			last = seq;
			if (newest.ahead.length > 0 || refill(newest, seq)) runs.splice(positionFor(newest, runs), 0, newest);
		}
	};
}

function numbersIn({ block, offsets }: { block: number; offsets: Buffer }): number[] {
	return Array.from(offsets, (offset) => block * BLOCK + offset);
}

const head = ({ ahead }: Run) => ahead.at(-1) ?? 0;

/** Finds the index for a run among others that are in order of their heads. */
function positionFor(run: Run, runs: readonly Run[]): number {
	let [from, to] = [0, runs.length];
	while (from < to) {
		const middle = (from + to) >> 1;
		if (head(runs[middle] as Run) < head(run)) from = middle + 1;
		else to = middle;
	}
	return from;
}
