import { leavePlace } from "./place.ts";

/** Runs a task when its turn comes. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/** Lets `width` long tasks run at once. The others wait and run in the order they came; none holds a request's place meanwhile. */
export function createGate(width: number): Gate {
	const waiting: (() => void)[] = [];
	let running = 0;
	return async (task) => {
		leavePlace();
		if (running < width) running++;
		else await new Promise<void>((resolve) => waiting.push(resolve));
		try {
			return await task();
		} finally {
			// The longest waiting task takes over, so `running` stays the same.
			const next = waiting.shift();
			if (next === undefined) running--;
			else next();
		}
	};
}
