import { startThread } from "../../asset.ts";
import type { RowKey } from "../../crypto/row-macs.ts";
import { type AppError, Unfinished } from "../../errors.ts";
import { MAX_QUESTION_S } from "../../limits.ts";
import { NoAnswer, ThreadPool } from "../../threads/thread-pool.ts";
import { closing, tookTooLong } from "../errors.ts";
import type { QuestionTimes } from "../store.ts";
import { refusedAs } from "./failure.ts";
import type { Questions, ReadAnswer, ReadInput, ReadRequest } from "./read-worker-thread.ts";
import { restoreBuffers } from "./thread-buffers.ts";

/** Milliseconds without a question after which the thread ends and frees its memory. */
const IDLE_MS = 60_000;

/** A question to another thread, as an asynchronous function. */
type Remote<Question> = Question extends (...args: infer Args) => infer Answer
	? (...args: Args) => Promise<Answer>
	: never;

/** Asks a thread with its own connection, started at the first question: questions that may read millions of rows never block the event loop. */
export class ReadWorker {
	readonly #thread: ThreadPool<ReadRequest, ReadAnswer>;
	/** Questions without an answer yet, and when the first of them began. */
	#open = 0;
	#began_at = 0;
	#refused = 0;

	/**
	 * @param keys returns the keys of rows when the thread starts; without them no row is verified
	 * @param limit_ms milliseconds that a question about the log or leases may take
	 */
	constructor(file: string, keys: () => RowKey[] = () => [], limit_ms = MAX_QUESTION_S * 1000) {
		this.#thread = new ThreadPool({
			start: () =>
				startThread(new URL("./read-worker-thread.ts", import.meta.url), {
					workerData: { file, row_keys: keys(), limit_ms } satisfies ReadInput,
				}),
			// It answers without waiting for this thread's event loop.
			ahead: Number.POSITIVE_INFINITY,
			idle_ms: IDLE_MS,
		});
	}

	/** Returns a question as an asynchronous function. */
	question<Noun extends keyof Questions, Verb extends keyof Questions[Noun] & string>(
		noun: Noun,
		verb: Verb,
	): Remote<Questions[Noun][Verb]> {
		return ((...args: unknown[]) => this.ask(noun, verb, args)) as Remote<Questions[Noun][Verb]>;
	}

	/** Makes the refusal of a question that took too long, or the part of a list that was found. */
	#overdue(found: Unfinished["found"] | undefined): AppError {
		if (found !== undefined) return new Unfinished(tookTooLong(), restoreBuffers(found) as typeof found);
		this.#refused++;
		return tookTooLong();
	}

	/** Tells how many seconds the question in work has taken, and how many questions took too long. */
	times(): QuestionTimes {
		const seconds = this.#open === 0 ? 0 : (performance.now() - this.#began_at) / 1000;
		return { seconds, refused: this.#refused };
	}

	/** Ends the thread permanently; open questions fail. */
	close(): Promise<void> {
		return this.#thread.close();
	}

	/** Asks a question by its name. */
	async ask(noun: string, verb: string, args: unknown[]): Promise<unknown> {
		if (this.#open++ === 0) this.#began_at = performance.now();
		const answer = await this.#thread
			.ask([noun, verb, ...args])
			.catch(explain)
			.finally(() => {
				this.#open--;
				this.#began_at = performance.now();
			});
		if ("value" in answer) return restoreBuffers(answer.value);
		if ("overdue" in answer) throw this.#overdue(answer.overdue);
		if ("refused" in answer) throw refusedAs(answer.refused);
		throw Object.assign(new Error(`reading the database failed: ${answer.error}`), { code: answer.code });
	}
}

function explain(error: unknown): never {
	if (error instanceof NoAnswer && error.why === "closed") throw closing();
	throw new Error("reading the database failed: the thread ended", { cause: error });
}
