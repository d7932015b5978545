import { startThread } from "../../asset.ts";
import { NoAnswer, ThreadPool } from "../../threads/thread-pool.ts";
import type { LdapAnswer, LdapQuestion } from "./ldap-thread.ts";

/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 30_000;
/** Memory of a thread's JavaScript: it reads little. */
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

/** Trouble reported for a question without an answer. */
const UNAVAILABLE: Record<NoAnswer["why"], string> = {
	overdue: "the directory did not answer in time: check url, the network, and the directory's load",
	broken: "the answer from url cannot be read: it is not a directory, or a hostile one",
	closed: "the server is stopping",
	busy: "too many logins are waiting: try again in a moment",
};

/** Threads that talk to directories. ldapjs has no maintainer: an input that breaks it breaks only a thread. Design: §11 */
export interface LdapThreads {
	/** Answers in `limit_ms`. A thread that breaks or takes longer is reported as unavailable, and ended. */
	ask(question: LdapQuestion, limit_ms: number): Promise<LdapAnswer>;
	/** Ends all threads; waiting questions receive that as their answer. */
	close(): Promise<void>;
}

/** Makes up to this many threads, none of them at first. A thread has one question at a time, and stays for the next one after its answer. */
export function createThreads(width: number): LdapThreads {
	const pool = new ThreadPool<LdapQuestion, LdapAnswer>({
		start: () => startThread(new URL("./ldap-thread.ts", import.meta.url), { resourceLimits: MEMORY }),
		width,
		idle_ms: IDLE_MS,
	});
	return {
		async ask(question, limit_ms) {
			try {
				return await pool.ask(question, limit_ms);
			} catch (error) {
				if (error instanceof NoAnswer) return { unavailable: UNAVAILABLE[error.why] };
				throw error;
			}
		},
		close: () => pool.close(),
	};
}
