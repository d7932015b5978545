import type { TestContext } from "node:test";

/** Lets the test advance this thread's monotonic clock without waiting; the clock also keeps running. */
export function passTime(t: TestContext): (ms: number) => void {
	const now = performance.now.bind(performance);
	let passed_ms = 0;
	t.mock.method(performance, "now", () => now() + passed_ms);
	return (ms) => {
		passed_ms += ms;
	};
}
