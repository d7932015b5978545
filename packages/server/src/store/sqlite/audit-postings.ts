import type { Database } from "better-sqlite3";
import {
	BLOCK,
	isOfKey,
	keyHash,
	OFFSET,
	offsetsOfKeys,
	partTerm,
	segmentOf,
	type Termed,
	termsOf,
} from "./audit-blocks.ts";
import { createStatements } from "./statements.ts";
import { allInTime, IN_TIME } from "./time-limit.ts";

/** Finds events by their terms and by their time. */
export interface AuditPostings {
	/**
	 * Yields the numbers below one of the events that have any of these terms, newest first. An event of another key, whose hash is the same, may be
	 * among them. @throws TookTooLong, at a number below all that it yielded
	 */
	walk(terms: readonly string[], below: number): Generator<number>;
	/** Counts the events of a term from a number on and below another. The term is not a key's. @throws TookTooLong */
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
const KEYS =
	"SELECT block, keys AS offsets FROM audit_block WHERE block >= ? AND block <= ? ORDER BY block DESC LIMIT ?";

/** Highest number of blocks read together. */
const MOST_BLOCKS = 64;

/** Offsets of events in a block, or in the segment that begins with it. */
interface Found {
	block: number;
	offsets: Iterable<number>;
}

/** Reads the offsets of some events in blocks up to one, the newest first. */
type ReadBlocks = (last: number, limit: number) => Found[];

/** The events of one term, or of some keys, newest first. */
interface Run {
	readonly read: ReadBlocks;
	/** Numbers that are known, the lowest first. */
	ahead: number[];
	/** Blocks to read next. */
	limit: number;
}

type Prepare = ReturnType<typeof createStatements>;

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
		yield* merge(readsOf(prepare, wanted, first), Math.min(first, below));
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

/** Makes the merge of runs below a number. An event can be in two of them. */
function merger(prepare: Prepare): (reads: Iterable<ReadBlocks>, below: number) => Generator<number> {
	/** Reads a run's next numbers below one. @returns false when there is none */
	function refill(run: Run, below: number): boolean {
		for (let block = Math.floor((below - 1) / BLOCK); ; ) {
			prepare("SELECT in_time(?)").get(below - 1);
			const rows = run.read(block, run.limit);
			run.ahead = rows.reverse().flatMap((row) => numbersIn(row).filter((seq) => seq < below));
			run.limit = Math.min(MOST_BLOCKS, run.limit * 4);
			const [oldest] = rows;
			if (oldest === undefined || run.ahead.length > 0) return run.ahead.length > 0;
			block = oldest.block - 1;
		}
	}

	return function* merge(reads: Iterable<ReadBlocks>, below: number): Generator<number> {
		const all = Array.from(reads, (read): Run => ({ read, ahead: [], limit: 1 }));
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

/** Yields the reads of the terms. @param first number of the first event that no block has */
function* readsOf(prepare: Prepare, terms: ReadonlySet<string>, first: number): Generator<ReadBlocks> {
	const hashes: number[] = [];
	for (const term of terms)
		if (isOfKey(term)) hashes.push(keyHash(term));
		else yield (last, limit) => prepare(POSTINGS).all(term, last, limit) as Found[];
	if (hashes.length > 0) yield* readsOfKeys(prepare, hashes, first);
}

/** Yields the reads of keys: of the newest blocks, and of each part of the segments before. */
function* readsOfKeys(prepare: Prepare, hashes: readonly number[], first: number): Generator<ReadBlocks> {
	const among = (rows: unknown[], width: number, own: ReadonlySet<number>) =>
		(rows as { block: number; offsets: Buffer }[]).map(({ block, offsets }) => ({
			block,
			offsets: offsetsOfKeys(offsets, width, own),
		}));
	const [behind, all] = [segmentOf(first / BLOCK - 1), new Set(hashes)];
	yield (last, limit) => among(prepare(KEYS).all(behind, last, limit), OFFSET.block, all);
	for (const [term, some] of Map.groupBy(all, partTerm)) {
		const own = new Set(some);
		yield (last, limit) => among(prepare(POSTINGS).all(term, last, limit), OFFSET.segment, own);
	}
}

function numbersIn({ block, offsets }: Found): number[] {
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
