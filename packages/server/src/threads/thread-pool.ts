import type { Worker } from "node:worker_threads";
import { releaseSlot } from "../request-slot.ts";

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

/** Threads of a pool, and their limits. */
export interface PoolLimits {
	/** Starts a thread, which answers by `answerQuestions`. */
	start(): Worker;
	/** Threads at once; by default one. */
	width?: number;
	/** Milliseconds for one question, once its thread is ready; by default any time. */
	limit_ms?: number;
	/** Questions that may wait; by default any number. */
	waiting?: number;
	/** Questions that a thread holds, the one it works on included; by default one. A thread that holds more must answer synchronously. */
	ahead?: number;
	/** Milliseconds without a question after which a thread ends and frees its memory. */
	idle_ms: number;
}

interface Job<Question, Answer> {
	question: Question;
	resolve(answer: Answer): void;
	reject(error: unknown): void;
	/** Ends its time. */
	timer: NodeJS.Timeout | undefined;
}

interface Thread<Question, Answer> {
	readonly worker: Worker;
	isReady: boolean;
	/** Questions it holds, the one it works on first. */
	readonly jobs: Job<Question, Answer>[];
	/** Ends it if it does not start, does not answer, or has nothing to do. */
	timer: NodeJS.Timeout | undefined;
}

/**
 * Threads that answer questions, each thread one after the other. They start when they are needed. A thread whose answer takes too long is ended, and the
 * next question gets a new one: a question that never ends delays neither the event loop nor the other questions. Waiting questions hold
 * no request's slot.
 */
export class ThreadPool<Question, Answer> {
	readonly #start: () => Worker;
	readonly #limits: Required<Omit<PoolLimits, "start" | "limit_ms">>;
	readonly #limit_ms: number | undefined;
	readonly #waiting = new Set<Job<Question, Answer>>();
	/** The last used one at the end. */
	readonly #threads = new Set<Thread<Question, Answer>>();
	#closed: NoAnswer | undefined;
	#closing: Promise<unknown> | undefined;

	constructor({ start, limit_ms, ...limits }: PoolLimits) {
		this.#start = start;
		this.#limit_ms = limit_ms;
		this.#limits = { width: 1, waiting: Number.POSITIVE_INFINITY, ahead: 1, ...limits };
	}

	/** Number of questions that wait for a thread. */
	get waiting(): number {
		return this.#waiting.size;
	}

	/**
	 * Asks when the question's turn comes.
	 * @param within_ms milliseconds for everything, the wait and the start of a thread included
	 * @throws NoAnswer
	 */
	ask(question: Question, within_ms?: number): Promise<Answer> {
		if (this.#closed !== undefined) return Promise.reject(this.#closed);
		if (this.#waiting.size >= this.#limits.waiting) return Promise.reject(new NoAnswer("busy"));
		releaseSlot();
		return new Promise((resolve, reject) => {
			const job: Job<Question, Answer> = { question, resolve, reject, timer: undefined };
			if (within_ms !== undefined) job.timer = setTimeout(() => this.#giveUp(job), within_ms);
			this.#waiting.add(job);
			this.#advance();
		});
	}

	/** Ends the threads permanently; open questions get no answer. */
	async close(): Promise<void> {
		const closed = new NoAnswer("closed");
		this.#closed ??= closed;
		this.#rejectWaiting(closed);
		this.#closing ??= Promise.all([...this.#threads].map((thread) => this.#end(thread, closed)));
		await this.#closing;
	}

	/** Gives waiting questions to free threads, and starts threads for the others. */
	#advance(): void {
		for (const job of this.#waiting) {
			const free = [...this.#threads].findLast(({ isReady, jobs }) => isReady && jobs.length < this.#limits.ahead);
			if (free === undefined) break;
			this.#waiting.delete(job);
			this.#give(free, job);
		}
		const starting = [...this.#threads].filter(({ isReady }) => !isReady).length;
		const room = this.#limits.width - this.#threads.size;
		for (let more = Math.min(room, this.#waiting.size - starting); more > 0; more--) this.#launch();
	}

	#give(thread: Thread<Question, Answer>, job: Job<Question, Answer>): void {
		try {
			thread.worker.postMessage(job.question);
		} catch (error) {
			// The question cannot cross to a thread, which is not the thread's fault.
			clearTimeout(job.timer);
			job.reject(error);
			return;
		}
		thread.worker.ref();
		if (thread.jobs.push(job) === 1) this.#endAfter(thread, this.#limit_ms, "overdue");
	}

	#launch(): void {
		let worker: Worker;
		try {
			worker = this.#start();
		} catch (cause) {
			if (this.#threads.size === 0) this.#rejectWaiting(new NoAnswer("broken", { cause }));
			return;
		}
		const thread: Thread<Question, Answer> = { worker, isReady: false, jobs: [], timer: undefined };
		this.#threads.add(thread);
		this.#endAfter(thread, START_MS, "broken");
		worker.on("message", (answer: Answer) => {
			if (thread.isReady) this.#receive(thread, answer);
			else thread.isReady = true;
			this.#rest(thread);
			this.#advance();
		});
		worker.on("error", (cause) => void this.#end(thread, new NoAnswer("broken", { cause })));
		worker.once("exit", () => void this.#end(thread, new NoAnswer("broken")));
	}

	#receive(thread: Thread<Question, Answer>, answer: Answer): void {
		const job = thread.jobs.shift();
		clearTimeout(job?.timer);
		job?.resolve(answer);
		// Last used, first asked: the others end when they are not needed.
		this.#threads.delete(thread);
		this.#threads.add(thread);
	}

	/** Returns the time for the next question, or for idling. An idle thread keeps no process alive. */
	#rest(thread: Thread<Question, Answer>): void {
		if (thread.jobs.length > 0) this.#endAfter(thread, this.#limit_ms, "overdue");
		else {
			thread.worker.unref();
			this.#endAfter(thread, this.#limits.idle_ms, "closed");
			thread.timer?.unref();
		}
	}

	#endAfter(thread: Thread<Question, Answer>, ms: number | undefined, why: NoAnswer["why"]): void {
		clearTimeout(thread.timer);
		thread.timer = ms === undefined ? undefined : setTimeout(() => void this.#end(thread, new NoAnswer(why)), ms);
	}

	#giveUp(job: Job<Question, Answer>): void {
		const overdue = new NoAnswer("overdue");
		const thread = [...this.#threads].find(({ jobs }) => jobs.includes(job));
		if (thread !== undefined) void this.#end(thread, overdue);
		else if (this.#waiting.delete(job)) job.reject(overdue);
	}

	/** Ends a thread. Its questions get no answer; nor do the waiting ones if it was starting, and no other one is ready. */
	async #end(thread: Thread<Question, Answer>, error: NoAnswer): Promise<void> {
		if (!this.#threads.delete(thread)) return;
		clearTimeout(thread.timer);
		thread.worker.removeAllListeners("message");
		for (const job of thread.jobs.splice(0)) {
			clearTimeout(job.timer);
			job.reject(error);
		}
		if (!thread.isReady && ![...this.#threads].some(({ isReady }) => isReady)) this.#rejectWaiting(error);
		this.#advance();
		await thread.worker.terminate();
	}

	#rejectWaiting(error: NoAnswer): void {
		for (const job of this.#waiting) {
			clearTimeout(job.timer);
			job.reject(error);
		}
		this.#waiting.clear();
	}
}
