/** Measures this thread's processor time in milliseconds, which a busy machine does not change. @param runs of which the cheapest counts */
export function costOf(run: () => void, runs = 3): number {
	const costs = Array.from({ length: runs }, () => {
		const before = process.threadCpuUsage();
		run();
		const { user, system } = process.threadCpuUsage(before);
		return (user + system) / 1000;
	});
	return Math.min(...costs);
}
