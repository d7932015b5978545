import type { TestContext } from "node:test";

/** Lets the test pass time on the monotonic clock of this thread without waiting; the clock goes on by itself, too. */
export function passTime(t: TestContext): (ms: number) => void {
	const now = performance.now.bind(performance);
	let passed_ms = 0;
	t.mock.method(performance, "now", () => now() + passed_ms);
	return (ms) => {
		passed_ms += ms;
	};
}
