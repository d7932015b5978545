import { startThread } from "../asset.ts";
import { AppError } from "../errors.ts";
import { ThreadPool } from "../threads/thread-pool.ts";
import type { PasswordAnswer, PasswordQuestion } from "./argon2-thread.ts";

/** Hashes computed at once: each holds 64 MiB. The password queue enforces both numbers, and limits the waiting ones. Design: §6, §13 */
export const WIDTHS = { all: 2, strangers: 1 } as const;

/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 30_000;

const pool = new ThreadPool<PasswordQuestion, PasswordAnswer>({
	start: () => startThread(new URL("./argon2-thread.ts", import.meta.url)),
	width: WIDTHS.all,
	idle_ms: IDLE_MS,
});

/**
 * Computes argon2id in a thread of low priority, so that sign-ins delay nobody else: they block neither the event loop, nor the threads that
 * read files, nor the cores while others need them.
 * @throws AppError internal_error when the thread fails
 */
export async function computeArgon2(question: PasswordQuestion): Promise<PasswordAnswer> {
	try {
		return await pool.ask(question);
	} catch (cause) {
		throw new AppError("internal_error", "the password could not be checked", { cause });
	}
}
