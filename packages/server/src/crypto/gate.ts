import { AppError } from "../errors.ts";

const BUSY = "too many passwords are being checked, try again in a moment";

/** Runs a task when its turn comes. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Lets `width` tasks run at once and `queue` more wait, in the order they came.
 * The gate throws AppError unhealthy when the queue is full.
 */
export function createGate(width: number, queue: number): Gate {
	const waiting: (() => void)[] = [];
	let running = 0;
	return async (task) => {
		if (running < width) running++;
		else if (waiting.length < queue) await new Promise<void>((resolve) => waiting.push(resolve));
		else throw new AppError("unhealthy", BUSY, { headers: { "Retry-After": "1" } });
		try {
			return await task();
		} finally {
			// Whoever waits longest takes over this place, so `running` stays as it is.
			const next = waiting.shift();
			if (next === undefined) running--;
			else next();
		}
	};
}
