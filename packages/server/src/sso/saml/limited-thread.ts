import type { Worker } from "node:worker_threads";

/** Milliseconds that a thread may take to start, on a busy machine. */
const START_MS = 30_000;

/** The reason why a question has no answer: it took too long, too many others wait, or the thread did not start or ended by itself. */
export class NoAnswer extends Error {
	override readonly name = "NoAnswer";
	readonly why: "overdue" | "busy" | "broken" | "closed";

	constructor(why: NoAnswer["why"], options?: ErrorOptions) {
		super(`no answer: ${why}`, options);
		this.why = why;
	}
}

interface Job<Question, Answer> {
	question: Question;
	resolve(answer: Answer): void;
	reject(error: NoAnswer): void;
}

/** Limits of a thread. */
export interface ThreadLimits {
	/** Starts the thread. Its first message, whatever it is, means that it is ready; every other one answers a question. */
	start(): Worker;
	/** Milliseconds for one question. */
	limit_ms: number;
	/** Questions that may wait. */
	queue: number;
	/** Milliseconds without a question after which the thread ends and frees its memory. */
	idle_ms: number;
}

/**
 * A thread that answers one question after the other. If an answer takes too long, the thread is ended, and the next question gets a new one:
 * a question made to take forever delays neither the event loop nor the other questions.
 */
export class LimitedThread<Question, Answer> {
	readonly #limits: ThreadLimits;
	readonly #waiting: Job<Question, Answer>[] = [];
	#worker: Worker | undefined;
	/** The same worker, once it is ready. */
	#ready: Worker | undefined;
	#current: Job<Question, Answer> | undefined;
	#timer: NodeJS.Timeout | undefined;
	#closed: NoAnswer | undefined;

	constructor(limits: ThreadLimits) {
		this.#limits = limits;
	}

	/** Asks when the question's turn comes. Rejects with NoAnswer. */
	ask(question: Question): Promise<Answer> {
		if (this.#closed !== undefined) return Promise.reject(this.#closed);
		if (this.#waiting.length >= this.#limits.queue) return Promise.reject(new NoAnswer("busy"));
		return new Promise((resolve, reject) => {
			this.#waiting.push({ question, resolve, reject });
			this.#next();
		});
	}

	/** Ends the thread for good; waiting questions get no answer. */
	async close(): Promise<void> {
		this.#closed = new NoAnswer("closed");
		for (const job of this.#waiting.splice(0)) job.reject(this.#closed);
		await this.#end(this.#closed);
	}

	#next(): void {
		if (this.#current !== undefined || this.#waiting.length === 0) return;
		this.#worker ??= this.#start();
		if (this.#ready === undefined) return;
		this.#current = this.#waiting.shift();
		this.#endAfter(this.#limits.limit_ms, "overdue");
		this.#ready.postMessage(this.#current?.question);
	}

	#endAfter(ms: number, why: NoAnswer["why"]): NodeJS.Timeout {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.#end(new NoAnswer(why)), ms);
		return this.#timer;
	}

	#start(): Worker {
		const worker = this.#limits.start();
		this.#endAfter(START_MS, "broken");
		worker.once("message", () => {
			this.#ready = worker;
			worker.unref();
			worker.on("message", (answer: Answer) => {
				// An idle thread keeps no process alive.
				this.#endAfter(this.#limits.idle_ms, "closed").unref();
				this.#finish((job) => job.resolve(answer));
			});
			this.#next();
		});
		worker.once("error", (cause) => {
			if (this.#worker === worker) void this.#end(new NoAnswer("broken", { cause }));
		});
		return worker;
	}

	/** Ends the thread. The current question gets no answer; if the thread was starting, all waiting ones get none. */
	async #end(error: NoAnswer): Promise<void> {
		const worker = this.#worker;
		if (this.#ready === undefined) for (const job of this.#waiting.splice(0)) job.reject(error);
		this.#worker = undefined;
		this.#ready = undefined;
		clearTimeout(this.#timer);
		worker?.removeAllListeners("message");
		this.#finish((job) => job.reject(error));
		await worker?.terminate();
	}

	#finish(settle: (job: Job<Question, Answer>) => void): void {
		const job = this.#current;
		this.#current = undefined;
		if (job !== undefined) settle(job);
		this.#next();
	}
}
