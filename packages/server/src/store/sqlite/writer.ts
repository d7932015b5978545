import type { Worker } from "node:worker_threads";
import { GENESIS } from "../../audit/chain.ts";
import type { AuditEvent } from "../../audit/model.ts";
import type { RowKey } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { closing, storageFailed } from "../errors.ts";
import { type BatchReport, type Operation, type Outcome, pack } from "./batch.ts";
import { writeEvent } from "./event-line.ts";
import { busy, cannotOpen, diskFull, refusedAs, STORAGE_EXIT_CODE } from "./failure.ts";
import { startWriterThread } from "./start-writer.ts";
import { restoreBuffers } from "./thread-buffers.ts";
import type { EventsReport, WriterInput, WriterMessage, WriterRequest } from "./writer-thread.ts";

/** Operations that are sent without waiting for the turn of the event loop to end: the writer works while this thread goes on. */
const EARLY = 4;

/** The same while the writer is at work: it takes what has arrived when it is ready, and each message costs as much as an event. */
const EARLY_WHILE_BUSY = 16;

interface Waiting {
	operation: Operation;
	resolve(value: unknown): void;
	reject(error: Error): void;
}

/** Listener to the writer, always called before the operations' callers get their results. */
export interface WriterListener {
	/** Receives the operations that a batch ran, as `noun.verb`. */
	onWritten(operations: readonly string[]): void;
	/** Called once: the storage failed, and nothing succeeds afterwards. */
	onFailure(error: FatalError): void;
	/** Receives what another program altered while the server ran. No row that is written afterwards gets a MAC. */
	onAltered(altered: string[]): void;
}

/** Queue of changes. */
export interface WriteQueue {
	/** Appends an event without a change to the audit log. */
	append(event: AuditEvent): Promise<void>;
	/** Returns an operation as a function whose promise resolves once its transaction is durable. */
	operation(noun: string, verb: string): (...args: unknown[]) => Promise<unknown>;
}

/**
 * The calling side of the writer thread: gathers operations while a batch is being committed and sends them as the next batch,
 * so that one fsync serves all of them.
 */
export class Writer implements WriteQueue {
	readonly #worker: Worker;
	readonly #exited: Promise<unknown>;
	/** The error that ended the thread. */
	readonly #broken: Promise<unknown>;
	readonly #listener: WriterListener;
	#tip: BatchReport["tip"] = { seq: 0, hash: GENESIS };
	#waiting: Waiting[] = [];
	#inFlight: Waiting[] = [];
	#scheduled: NodeJS.Immediate | undefined;
	#failure: FatalError | undefined;
	#commits = 0;
	#isFull = false;
	#closing: Promise<void> | undefined;
	/** Callers that wait until the thread has its keys, in order. */
	readonly #guarding: PromiseWithResolvers<string[]>[] = [];

	private constructor(worker: Worker, listener: WriterListener) {
		this.#worker = worker;
		this.#exited = new Promise((resolve) => worker.once("exit", resolve));
		this.#broken = new Promise((resolve) => worker.once("error", resolve));
		this.#listener = listener;
	}

	/**
	 * Starts the thread, which loads its program while the caller goes on. Call `open` or `close` next.
	 * @param started a thread that was started earlier
	 */
	static launch(listener: WriterListener, started?: Worker): Writer {
		const worker = started ?? startWriterThread();
		worker.ref();
		return new Writer(worker, listener);
	}

	/**
	 * Makes the thread open the database and migrate it.
	 * @throws FatalError when the database cannot be opened
	 */
	async open(input: WriterInput): Promise<void> {
		const worker = this.#worker;
		worker.postMessage(input satisfies WriterRequest);
		await new Promise<void>((resolve, reject) => {
			void this.#broken.then((cause) =>
				reject(new FatalError("the writer thread did not start", STORAGE_EXIT_CODE, { cause })),
			);
			worker.once("message", (message: WriterMessage) => {
				if (isOfEvents(message)) return;
				if (message.kind === "ready") {
					this.#tip = message.tip;
					resolve();
				} else if (message.kind === "failure")
					reject(message.message === "" ? cannotOpen(input.file, message.code) : new FatalError(message.message));
			});
		});
		void this.#broken.then((cause) =>
			this.#fail(new FatalError("the writer thread ended", STORAGE_EXIT_CODE, { cause })),
		);
		worker.on("message", (message: WriterMessage) => this.#receive(message));
	}

	/**
	 * Gives the thread the keys of rows.
	 * @returns what does not fit the first ones; then no row gets a MAC
	 * @throws FatalError when the thread fails meanwhile
	 */
	guard(row_keys: RowKey[]): Promise<string[]> {
		const guarding = Promise.withResolvers<string[]>();
		this.#guarding.push(guarding);
		this.#worker.postMessage({ row_keys } satisfies WriterRequest);
		return guarding.promise;
	}

	/** The end of the audit chain. */
	get tip(): { seq: number; hash: Buffer } {
		return restoreBuffers(this.#tip) as { seq: number; hash: Buffer };
	}

	/** Counts the batches whose operations' callers have their results, or are about to get them. */
	get commits(): number {
		return this.#commits;
	}

	/** Tells whether the last batch found the disk full. */
	get isFull(): boolean {
		return this.#isFull;
	}

	/** Tells whether the storage failed permanently. */
	get hasFailed(): boolean {
		return this.#failure !== undefined;
	}

	operation(noun: string, verb: string): (...args: unknown[]) => Promise<unknown> {
		return (...args) => this.#run([noun, verb, ...args]);
	}

	append(event: AuditEvent): Promise<void> {
		return this.#run(writeEvent(event)) as Promise<void>;
	}

	/** Ends the thread after all queued operations; it moves the log into the database. */
	close(): Promise<void> {
		this.#closing ??= this.#end();
		return this.#closing;
	}

	async #end(): Promise<void> {
		if (this.#failure === undefined) await this.#idle();
		this.#worker.postMessage("close");
		await this.#exited;
	}

	/** Resolves when all queued operations are answered: a batch runs in order, so the last operation is the last answer. */
	async #idle(): Promise<void> {
		const last = [...this.#inFlight, ...this.#waiting].at(-1);
		if (last === undefined) return;
		const { resolve, reject } = last;
		await new Promise<void>((done) => {
			last.resolve = (value) => done(resolve(value));
			last.reject = (error) => done(reject(error));
		});
	}

	#run(operation: Operation): Promise<unknown> {
		if (this.#failure !== undefined) return Promise.reject(storageFailed());
		if (this.#closing !== undefined) return Promise.reject(closing());
		return new Promise((resolve, reject) => {
			this.#waiting.push({ operation, resolve, reject });
			this.#scheduled ??= setImmediate(() => this.#sendWaiting());
			const isIdle = this.#inFlight.length === 0;
			if (this.#waiting.length >= (isIdle ? EARLY : EARLY_WHILE_BUSY)) this.#sendWaiting();
		});
	}

	#sendWaiting(): void {
		clearImmediate(this.#scheduled);
		this.#scheduled = undefined;
		this.#worker.postMessage(pack(this.#waiting.map(({ operation }) => operation)));
		this.#inFlight.push(...this.#waiting.splice(0));
	}

	#receive(message: WriterMessage): void {
		if (isOfEvents(message)) {
			const [count, seq, hash] = message;
			const tip = { seq, hash: Buffer.from(hash, "latin1") };
			this.#answer({ count, outcomes: undefined, tip });
			return;
		}
		if (message.kind === "guarded") {
			this.#guarding.shift()?.resolve(message.altered);
			return;
		}
		if (message.kind === "altered") {
			this.#listener.onAltered(message.altered);
			return;
		}
		if (message.kind !== "report") {
			const reason = message.kind === "failure" ? message.message || message.code : "";
			this.#fail(
				new FatalError(`the storage failed, stopping: ${reason}; check the disk, then start again`, STORAGE_EXIT_CODE),
			);
			return;
		}
		this.#answer(message.report);
	}

	#answer(report: BatchReport): void {
		const answered = this.#inFlight.splice(0, report.count);
		// The writer goes on while the callers do.
		if (this.#inFlight.length === 0 && this.#waiting.length > 0) this.#sendWaiting();
		this.#settle(answered, report);
	}

	#settle(answered: Waiting[], { outcomes, tip }: BatchReport): void {
		this.#tip = tip;
		this.#commits++;
		this.#isFull = outcomes?.some((outcome) => "full" in outcome) ?? false;
		if (outcomes === undefined) {
			for (const waiting of answered) waiting.resolve(undefined);
			return;
		}
		const changed = answered.flatMap(({ operation }) =>
			typeof operation === "string" ? [] : [`${operation[0]}.${operation[1]}`],
		);
		this.#listener.onWritten(changed);
		for (const [index, waiting] of answered.entries()) settle(waiting, outcomes[index] ?? { full: true });
	}

	#fail(failure: FatalError): void {
		if (this.#failure !== undefined) return;
		this.#failure = failure;
		for (const waiting of [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]) waiting.reject(storageFailed());
		for (const guarding of this.#guarding.splice(0)) guarding.reject(failure);
		this.#listener.onFailure(failure);
	}
}

const isOfEvents = (message: WriterMessage): message is EventsReport => Array.isArray(message);

function settle(waiting: Waiting, outcome: Outcome): void {
	if ("done" in outcome) waiting.resolve(outcome.done);
	else if ("refused" in outcome) waiting.reject(refusedAs(outcome.refused));
	else if ("full" in outcome) waiting.reject(diskFull());
	else if ("busy" in outcome) waiting.reject(busy());
	else waiting.reject(new Error(outcome.failed.message));
}
