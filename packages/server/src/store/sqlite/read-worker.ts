import type { Worker } from "node:worker_threads";
import { leavePlace } from "../../place.ts";
import { startThread } from "../../shipped-file.ts";
import { closing } from "./failure.ts";
import type { Questions, ReadAnswer, ReadRequest } from "./read-worker-thread.ts";
import { withBuffers } from "./transfer.ts";

/** Milliseconds without a question after which the thread ends and frees its memory. */
const IDLE_MS = 60_000;

/** A question to another thread, as an asynchronous function. */
type Remote<Question> = Question extends (...args: infer Args) => infer Answer
	? (...args: Args) => Promise<Answer>
	: never;

/** A thread, and the callers that wait for its answers. */
interface Asked {
	worker: Worker;
	waiting: Map<number, { resolve(value: unknown): void; reject(error: Error): void }>;
	idle: NodeJS.Timeout | undefined;
}

/** Asks a thread with its own connection, started at the first question: questions that may read millions of rows never block the event loop. */
export class ReadWorker {
	readonly #file: string;
	#asked: Asked | undefined;
	#closing: Promise<void> | undefined;
	#next = 0;

	constructor(file: string) {
		this.#file = file;
	}

	/** Returns a question as an asynchronous function. */
	question<Noun extends keyof Questions, Verb extends keyof Questions[Noun] & string>(
		noun: Noun,
		verb: Verb,
	): Remote<Questions[Noun][Verb]> {
		return ((...args: unknown[]) => this.ask(noun, verb, args)) as Remote<Questions[Noun][Verb]>;
	}

	/** Ends the thread for good; open questions fail. */
	close(): Promise<void> {
		this.#closing ??= this.#asked === undefined ? Promise.resolve() : this.#end(this.#asked);
		return this.#closing;
	}

	/** Asks a question by its name. */
	ask(noun: string, verb: string, args: unknown[]): Promise<unknown> {
		if (this.#closing !== undefined) return Promise.reject(closing());
		leavePlace();
		this.#asked ??= this.#start();
		const { worker, waiting, idle } = this.#asked;
		clearTimeout(idle);
		const id = this.#next++;
		return new Promise((resolve, reject) => {
			waiting.set(id, { resolve, reject });
			worker.postMessage([id, noun, verb, ...args] satisfies ReadRequest);
		});
	}

	#start(): Asked {
		const worker = startThread(new URL("./read-worker-thread.ts", import.meta.url), { workerData: this.#file });
		worker.unref();
		const asked: Asked = { worker, waiting: new Map(), idle: undefined };
		worker.on("message", (answer: ReadAnswer) => this.#receive(asked, answer));
		worker.on("error", () => void this.#end(asked));
		return asked;
	}

	#receive(asked: Asked, answer: ReadAnswer): void {
		const waiting = asked.waiting.get(answer.id);
		asked.waiting.delete(answer.id);
		if ("value" in answer) waiting?.resolve(withBuffers(answer.value));
		else
			waiting?.reject(Object.assign(new Error(`reading the database failed: ${answer.error}`), { code: answer.code }));
		if (asked.waiting.size === 0) asked.idle = setTimeout(() => void this.#end(asked), IDLE_MS).unref();
	}

	/** Ends one thread and fails its questions; the next question starts another one. */
	async #end(asked: Asked): Promise<void> {
		if (this.#asked === asked) this.#asked = undefined;
		clearTimeout(asked.idle);
		for (const { reject } of asked.waiting.values()) reject(new Error("the reader thread ended"));
		asked.waiting.clear();
		await asked.worker.terminate();
	}
}
