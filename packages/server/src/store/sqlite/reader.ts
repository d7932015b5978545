import { Worker } from "node:worker_threads";
import type { AuditLog } from "./audit-log.ts";
import type { ReaderAnswer } from "./reader-thread.ts";
import { withBuffers } from "./transfer.ts";
import type { Remote } from "./writer.ts";

/** Milliseconds without a question after which the thread ends and gives its memory back. */
const IDLE_MS = 60_000;

/** Asks a thread that has its own connection, started at the first question: what may have to look at millions of rows never holds up the event loop. */
export class LongReader {
	readonly #file: string;
	readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	#worker: Worker | undefined;
	#idle: NodeJS.Timeout | undefined;
	#next = 0;

	constructor(file: string) {
		this.#file = file;
	}

	/** The log's questions as asynchronous functions. */
	log(): Remote<AuditLog> {
		const ask =
			(verb: string) =>
			(...args: unknown[]) =>
				this.#ask(verb, args);
		return {
			list: ask("list"),
			count: ask("count"),
			checkpoints: ask("checkpoints"),
			verify: ask("verify"),
		} as Remote<AuditLog>;
	}

	/** Ends the thread; open questions fail. */
	async close(): Promise<void> {
		clearTimeout(this.#idle);
		const worker = this.#worker;
		this.#worker = undefined;
		await worker?.terminate();
		this.#rejectAll();
	}

	#ask(verb: string, args: unknown[]): Promise<unknown> {
		clearTimeout(this.#idle);
		this.#worker ??= this.#start();
		const id = this.#next++;
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			this.#worker?.postMessage([id, verb, ...args]);
		});
	}

	#start(): Worker {
		const worker = new Worker(new URL("./reader-thread.ts", import.meta.url), { workerData: this.#file });
		worker.unref();
		worker.on("message", (answer: ReaderAnswer) => this.#receive(answer));
		worker.on("error", () => {
			this.#worker = undefined;
			this.#rejectAll();
		});
		return worker;
	}

	#receive(answer: ReaderAnswer): void {
		const waiting = this.#waiting.get(answer.id);
		this.#waiting.delete(answer.id);
		if ("value" in answer) waiting?.resolve(withBuffers(answer.value));
		else waiting?.reject(new Error(`reading the log failed: ${answer.error}`));
		if (this.#waiting.size > 0) return;
		this.#idle = setTimeout(() => void this.close(), IDLE_MS);
		this.#idle.unref();
	}

	#rejectAll(): void {
		for (const { reject } of this.#waiting.values()) reject(new Error("the reader thread ended"));
		this.#waiting.clear();
	}
}
