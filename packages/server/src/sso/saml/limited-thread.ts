import type { Worker } from "node:worker_threads";

/** Milliseconds that a thread may take until it is ready, on a machine that has much else to do. */
const START_MS = 30_000;

/** Why a question has no answer: it took too long, too many others wait, or the thread could not be started or ended by itself. */
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

/** How a thread is limited. */
export interface ThreadLimits {
	/** Starts it. Its first message, whatever it is, says that it is ready; every other one answers a question. */
	start(): Worker;
	/** Milliseconds for one question. */
	limit_ms: number;
	/** Questions that may wait. */
	queue: number;
	/** Milliseconds without a question after which it ends and gives its memory back. */
	idle_ms: number;
}

/**
 * A thread that answers one question after the other. One that takes too long is ended, and the next question gets a new thread: what is
 * asked may be made to take forever, and neither the event loop nor the other questions have to wait for it.
 */
export class LimitedThread<Question, Answer> {
	readonly #limits: ThreadLimits;
	readonly #waiting: Job<Question, Answer>[] = [];
	#worker: Worker | undefined;
	/** The same one, once it is ready. */
	#ready: Worker | undefined;
	#current: Job<Question, Answer> | undefined;
	#timer: NodeJS.Timeout | undefined;
	#closed: NoAnswer | undefined;

	constructor(limits: ThreadLimits) {
		this.#limits = limits;
	}

	/** Asks when its turn comes. Rejects with NoAnswer. */
	ask(question: Question): Promise<Answer> {
		if (this.#closed !== undefined) return Promise.reject(this.#closed);
		if (this.#waiting.length >= this.#limits.queue) return Promise.reject(new NoAnswer("busy"));
		return new Promise((resolve, reject) => {
			this.#waiting.push({ question, resolve, reject });
			this.#next();
		});
	}

	/** Ends the thread for good; whoever waits gets no answer. */
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
				// While nobody asks it keeps no process alive.
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

	/** Ends the thread. Who was being answered is not; while it started, that is everybody who waits. */
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
