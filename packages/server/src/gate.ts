/** Runs a task when its turn comes. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/** Lets `width` tasks run at once. All others wait, and run in the order they came. */
export function createGate(width: number): Gate {
	const waiting: (() => void)[] = [];
	let running = 0;
	return async (task) => {
		if (running < width) running++;
		else await new Promise<void>((resolve) => waiting.push(resolve));
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
