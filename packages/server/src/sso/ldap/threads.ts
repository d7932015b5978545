import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../shipped-file.ts";
import type { LdapAnswer, LdapQuestion } from "./ldap-thread.ts";

/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 30_000;
/** Memory of a thread's JavaScript: it reads little. */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

const SILENT = "the directory does not answer in time: look at url, at the network, and at its load";
const BROKEN = "what answers at url cannot be read: it is no directory, or a hostile one";
const STOPPING = "the server is stopping";

/** Threads that talk to directories. ldapjs has no maintainer: an input that breaks it breaks only a thread. Design: §11 */
export interface LdapThreads {
	/** Answers in `limit_ms`. A thread that breaks or takes longer is reported as trouble, and ended. */
	ask(question: LdapQuestion, limit_ms: number): Promise<LdapAnswer>;
	/** Ends all threads; waiting questions receive that as their answer. */
	close(): Promise<void>;
}

/** Makes the pool, without a thread at first. A thread has one question at a time, and stays for the next one after its answer. */
export function createThreads(): LdapThreads {
	const threads = new Set<Worker>();
	const idle: { thread: Worker; timer: NodeJS.Timeout }[] = [];
	let isClosed = false;

	function start(): Worker {
		const thread = startThread(new URL("./ldap-thread.ts", import.meta.url), { resourceLimits: LIMITS });
		threads.add(thread);
		// The waiting question learns of the error too; a thread that breaks while idle is not missed.
		thread.on("error", () => undefined);
		thread.once("exit", () => threads.delete(thread));
		return thread;
	}

	function take(): Worker {
		const waiting = idle.pop();
		clearTimeout(waiting?.timer);
		const thread = waiting !== undefined && threads.has(waiting.thread) ? waiting.thread : start();
		thread.ref();
		return thread;
	}

	function keep(thread: Worker): void {
		thread.unref();
		const entry = { thread, timer: setTimeout(() => end(entry), IDLE_MS).unref() };
		idle.push(entry);
	}

	function end(entry: (typeof idle)[number]): void {
		idle.splice(idle.indexOf(entry), 1);
		void entry.thread.terminate();
	}

	return {
		async ask(question, limit_ms) {
			if (isClosed) return { trouble: STOPPING };
			const thread = take();
			const answer = await answerOf(thread, question, limit_ms);
			if (typeof answer === "string") {
				void thread.terminate();
				return { trouble: isClosed ? STOPPING : answer };
			}
			keep(thread);
			return answer;
		},
		async close() {
			isClosed = true;
			await Promise.all([...threads].map((thread) => thread.terminate()));
		},
	};
}

async function answerOf(thread: Worker, question: LdapQuestion, limit_ms: number) {
	const over = new AbortController();
	const { signal } = over;
	thread.postMessage(question);
	try {
		return await Promise.race([
			once(thread, "message", { signal }).then(([answer]) => answer as LdapAnswer),
			once(thread, "exit", { signal }).then(() => BROKEN),
			sleep(limit_ms, SILENT, { signal }),
		]);
	} catch {
		// Only the error that ended the thread arrives here.
		return BROKEN;
	} finally {
		over.abort();
	}
}
