import { setImmediate as nextTurn } from "node:timers/promises";
import { CACHES, type Cached, type CacheName } from "../../operation.ts";
import { type Answers, answerIn, createAnswers } from "../cache.ts";
import type { Marks } from "../row-ledger.ts";

/** An answer of the database, and the marks of the state that it was read from. */
interface Marked {
	answer: unknown;
	marks: Marks;
}

type Run = (...args: unknown[]) => Promise<unknown>;

/** Answers that this server remembers, although others change the database. Each is used under a proof only. */
export interface ProvedAnswers {
	/** Forgets what does not hold any more: the newest tip is read after the call. Requests that ask meanwhile share it. */
	prove(): Promise<void>;
	/** Returns a question whose answers are remembered, and proved each time. */
	remember(cached: Cached, ask: (...args: unknown[]) => Promise<Marked>): Run;
	/** Forgets every answer. */
	clear(): void;
}

/**
 * Creates the memory of answers.
 * @param readMarks learns what other servers have changed, and reads the marks of the newest tip
 */
export function createProvedAnswers(readMarks: () => Promise<Marks>): ProvedAnswers {
	const known: Record<CacheName, Answers[]> = { access: [], secrets: [], configs: [] };
	let held: Marks = {};
	let isProved = false;
	const hold = (marks: Marks) => {
		for (const cache of CACHES) {
			if (marks[cache] === undefined || marks[cache] !== held[cache]) for (const one of known[cache]) one.clear();
		}
		held = marks;
	};
	const prove = shareRuns(async () => {
		hold(await readMarks());
		isProved = true;
		// What waited for the proof goes on before that, until it waits again. A request that arrives later asks for a proof of its own.
		process.nextTick(() => {
			isProved = false;
		});
	});
	return {
		prove,
		remember(cached, ask) {
			const answers = createAnswers(cached);
			known[cached.in].push(answers);
			return async (...args) => {
				if (!isProved) await prove();
				const name = answers.nameOf(args);
				const found = answers.find(name);
				if (found !== undefined) return answerIn(found);
				const { answer, marks } = await ask(...args);
				const mark = marks[cached.in];
				// Another state than the one that is held, older or newer: only this question may be answered from it.
				if (mark !== undefined && mark === held[cached.in]) answers.keep(name, answer);
				return answer;
			};
		},
		clear: () => hold({}),
	};
}

/** Runs work one at a time, for all that ask before it begins: what they get was done after they asked. */
function shareRuns(run: () => Promise<void>): () => Promise<void> {
	let next: Promise<void> | undefined;
	let last = Promise.resolve();
	const begin = async () => {
		// Requests of this turn of the event loop share it.
		await nextTurn();
		next = undefined;
		await run();
	};
	return () => {
		if (next !== undefined) return next;
		const own = last.then(begin);
		next = own;
		last = own.catch(() => undefined);
		return own;
	};
}
