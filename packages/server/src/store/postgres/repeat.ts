/** Repeats work, one run at a time; one that fails is tried again with the next. @returns what ends it, after the run that is under way */
export function repeat(every_ms: number, work: () => Promise<void>): () => Promise<void> {
	let running: Promise<void> | undefined;
	const timer = setInterval(() => {
		running ??= work()
			.catch(() => undefined)
			.finally(() => {
				running = undefined;
			});
	}, every_ms);
	timer.unref();
	return async () => {
		clearInterval(timer);
		await running;
	};
}
