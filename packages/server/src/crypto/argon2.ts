import type { Worker } from "node:worker_threads";
import { AppError } from "../errors.ts";
import { createSemaphore } from "../semaphore.ts";
import { startThread } from "../shipped-file.ts";
import type { PasswordAnswer, PasswordQuestion } from "./argon2-thread.ts";

/** Hashes computed at once: each holds 64 MiB. The password queue limits the waiting ones. Design: §6, §13 */
export const WIDTH = 2;

/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 30_000;

/** Idle threads, with the timers that end them. */
const idle: { thread: Worker; timer: NodeJS.Timeout }[] = [];

const semaphore = createSemaphore(WIDTH);

/**
 * Computes argon2id in a thread of low priority, so that sign-ins delay nobody else: they block neither the event loop, nor the threads that
 * read files, nor the cores while others need them.
 * @throws AppError internal_error when the thread fails
 */
export function computeArgon2(question: PasswordQuestion): Promise<PasswordAnswer> {
	return semaphore.run(() => ask(idle.pop(), question));
}

function ask(waiting: (typeof idle)[number] | undefined, question: PasswordQuestion): Promise<PasswordAnswer> {
	clearTimeout(waiting?.timer);
	const thread = waiting?.thread ?? startThread(new URL("./argon2-thread.ts", import.meta.url));
	thread.ref();
	return new Promise((resolve, reject) => {
		const fail = (cause: Error) =>
			reject(new AppError("internal_error", "the password could not be checked", { cause }));
		thread.once("error", fail);
		thread.once("message", (answer: PasswordAnswer) => {
			thread.removeListener("error", fail);
			keep(thread);
			resolve(answer);
		});
		thread.postMessage(question);
	});
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
