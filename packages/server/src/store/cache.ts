import { LRUCache } from "lru-cache";
import { createCache } from "../cache.ts";
import { type Awaitable, CACHES, type Cached, type CacheName } from "../operation.ts";
import { DECLARATIONS, type Operations } from "./store.ts";

/** Maximum number of remembered answers per cache: tokens, sessions, memberships, configurations. */
const MAX_REMEMBERED = 16_384;

/** Maximum number of remembered long answers, such as sealed secrets that many read, and of their bytes in total. */
const MAX_LONG = 1024;
const MAX_LONG_BYTES = 4 * 1024 * 1024;

/** Approximate memory of a long answer in addition to its bytes. */
const OVERHEAD_BYTES = 512;

/** Cache of answers in front of the database. */
export interface AnswerCache {
	/** Returns the same operations; those declared `cached` remember their answers. */
	over(operations: Operations): Operations;
	/** Receives the operations of a batch, as `noun.verb`, before their callers learn the results. */
	forget(operations: readonly string[]): void;
	/** Forgets every answer. */
	clear(): void;
}

/**
 * Remembers what every request asks for. Only this process writes the database, and the writer reports the operations it ran before it answers their
 * callers, so the next request sees every answered change. After an undeclared operation, everything is forgotten.
 */
export function createAnswerCache(): AnswerCache {
	const groups: Record<CacheName, Group> = { access: createGroup(), secrets: createGroup(), configs: createGroup() };
	return {
		over(operations) {
			const nouns = operations as unknown as Record<string, Record<string, Ask>>;
			const entries = Object.entries(nouns).map(([noun, verbs]) => [
				noun,
				Object.fromEntries(Object.entries(verbs).map(([verb, ask]) => [verb, remembered(noun, verb, ask)])),
			]);
			return Object.fromEntries(entries) as unknown as Operations;
		},
		forget(operations) {
			for (const name of CACHES) {
				if (operations.some((operation) => forgottenBy(operation).includes(name))) groups[name].clear();
			}
		},
		clear() {
			for (const name of CACHES) groups[name].clear();
		},
	};

	function remembered(noun: string, verb: string, ask: Ask): Ask {
		const declared = DECLARATIONS.get(`${noun}.${verb}`);
		if (declared?.kind !== "read" || declared.cached === undefined) return ask;
		return groups[declared.cached.in].remember(declared.cached, ask);
	}
}

type Ask = (...args: unknown[]) => Awaitable<unknown>;

/** Caches that an operation invalidates. */
function forgottenBy(operation: string): readonly CacheName[] {
	const declared = DECLARATIONS.get(operation);
	return declared?.kind === "write" ? declared.forgets : CACHES;
}

/** Caches that are emptied together. */
interface Group {
	remember(cached: Cached, ask: Ask): Ask;
	clear(): void;
}

/** Stands for the answer "not found". */
const NOTHING = Symbol("nothing");

type Known = { get(key: string): Remembered | undefined; set(key: string, answer: Remembered): unknown; clear(): void };

function createGroup(): Group {
	const caches: Answers[] = [];
	let cleared = 0;
	return {
		remember(cached, ask) {
			const answers = createAnswers(cached);
			caches.push(answers);
			const keep = (name: string, answer: unknown, before: number) => {
				if (before === cleared) answers.keep(name, answer);
				return answer;
			};
			return (...args) => {
				const name = answers.nameOf(args);
				const found = answers.find(name);
				if (found !== undefined) return answerIn(found);
				const before = cleared;
				const answer = ask(...args);
				if (answer instanceof Promise) return answer.then((late) => keep(name, late, before));
				return keep(name, answer, before);
			};
		},
		clear() {
			cleared++;
			for (const cache of caches) cache.clear();
		},
	};
}

/** Remembered answers to one question. */
export interface Answers {
	/** Names a question by its arguments. */
	nameOf(args: readonly unknown[]): string;
	/** Finds what is remembered, for `answerIn`; undefined when nothing is. */
	find(name: string): Remembered | undefined;
	/** Remembers an answer, or that there is none, where the declaration says so. */
	keep(name: string, answer: unknown): void;
	clear(): void;
}

/** A remembered answer, or the mark of none. */
export type Remembered = object | symbol;

/** Creates the memory of a read that is declared with a cache. */
export function createAnswers({ by, absence, bytesOf }: Cached): Answers {
	const known: Known = bytesOf === undefined ? createCache<string, Remembered>(MAX_REMEMBERED) : long(bytesOf);
	return {
		nameOf: (args) => keyOf(args, by),
		find: (name) => known.get(name),
		keep(name, answer) {
			if (answer !== undefined) known.set(name, Object.freeze(answer as object));
			else if (absence === true) known.set(name, NOTHING);
		},
		clear: () => known.clear(),
	};
}

/** Returns the answer that was found in memory. */
export function answerIn(found: Remembered): object | undefined {
	return found === NOTHING ? undefined : (found as object);
}

/** Joins the first arguments of a question, texts or bytes. */
function keyOf(args: readonly unknown[], by: number): string {
	let key = textOf(args[0]);
	for (let index = 1; index < by; index++) key += ` ${textOf(args[index])}`;
	return key;
}

function textOf(given: unknown): string {
	return given instanceof Buffer ? given.toString("latin1") : (given as string);
}

function long(bytesOf: (answer: never) => number): Known {
	return new LRUCache<string, object>({
		max: MAX_LONG,
		maxSize: MAX_LONG_BYTES,
		sizeCalculation: (answer) => bytesOf(answer as never) + OVERHEAD_BYTES,
	}) as Known;
}
