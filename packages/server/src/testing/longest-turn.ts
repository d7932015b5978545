/** Watches the event loop: measures the processor time of its longest turn, whatever else the machine does. */
export function longestTurn(): { stop(): { longest_ms: number; turns: number } } {
	let longest = 0;
	let turns = 0;
	let last = process.threadCpuUsage();
	let next: NodeJS.Immediate;
	const measure = () => {
		const now = process.threadCpuUsage();
		longest = Math.max(longest, now.user - last.user + now.system - last.system);
		last = now;
		turns++;
		next = setImmediate(measure);
	};
	next = setImmediate(measure);
	return {
		stop() {
			clearImmediate(next);
			return { longest_ms: longest / 1000, turns };
		},
	};
}
