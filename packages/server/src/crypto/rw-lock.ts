/** Lets any number of tasks run side by side, and now and then one alone. */
export interface RwLock {
	/** Runs the task once no exclusive one is running or waiting. */
	shared<T>(task: () => Promise<T>): Promise<T>;
	/** Keeps further tasks out, waits for those inside to end, and runs the task alone. */
	exclusive<T>(task: () => Promise<T>): Promise<T>;
}

/** Makes a free lock. */
export function createRwLock(): RwLock {
	const inside = new Set<Promise<unknown>>();
	let closed: Promise<unknown> | undefined;
	return {
		async shared(task) {
			while (closed !== undefined) await closed;
			const running = task();
			inside.add(running);
			try {
				return await running;
			} finally {
				inside.delete(running);
			}
		},
		async exclusive(task) {
			while (closed !== undefined) await closed;
			const running = Promise.allSettled(inside).then(task);
			closed = Promise.allSettled([running]);
			try {
				return await running;
			} finally {
				closed = undefined;
			}
		},
	};
}
