import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../shipped-file.ts";
import type { LdapAnswer, LdapQuestion } from "./ldap-thread.ts";

/** Milliseconds after which a thread that nobody asked ends. */
const IDLE_MS = 30_000;
/** What a thread's JavaScript may take: it reads little. */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

const SILENT = "the directory does not answer in time: look at url, at the network, and at its load";
const BROKEN = "what answers at url cannot be read: it is no directory, or a hostile one";
const STOPPING = "the server is stopping";

/** Threads in which directories are spoken with. ldapjs has no maintainer: what breaks it breaks a thread. Design: §11 */
export interface LdapThreads {
	/** Answers in `limit_ms`. Whatever breaks in a thread, or takes longer, is a trouble, and the end of the thread. */
	ask(question: LdapQuestion, limit_ms: number): Promise<LdapAnswer>;
	/** Ends them all; whoever waits is told so. */
	close(): Promise<void>;
}

/** Starts none yet. A thread has one question at a time, and is kept for the next one when it has answered. */
export function createThreads(): LdapThreads {
	const threads = new Set<Worker>();
	const idle: { thread: Worker; timer: NodeJS.Timeout }[] = [];
	let isClosed = false;

	function start(): Worker {
		const thread = startThread(new URL("./ldap-thread.ts", import.meta.url), { resourceLimits: LIMITS });
		threads.add(thread);
		// Whoever waits for an answer hears it too; one that breaks while nobody waits is not missed.
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
		// Nothing but the error that has ended the thread.
		return BROKEN;
	} finally {
		over.abort();
	}
}
