import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks, by which the result may be too high: at rest, a look each takes 0.9 % of a processor. */
const LOOK_MS = 5;

/** Measures how long nobody else was served. */
export interface TurnMeter {
	/** Measures from now on. */
	start(): void;
	/** Measures no more, so that a server that nobody asks sleeps. */
	stop(): void;
	/** Tells the longest turn of the event loop since it was last asked, in seconds. */
	longest(): number;
}

/** Makes the meter of the event loop's turns. Design: §13 */
export function createTurnMeter(): TurnMeter {
	const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
	let kept = 0;
	return {
		start() {
			// Without the reset, the time in which nothing was measured would count as one turn.
			kept = Math.max(kept, delays.max);
			delays.reset();
			delays.enable();
		},
		stop: () => void delays.disable(),
		longest() {
			const max = Math.max(kept, delays.max);
			kept = 0;
			delays.reset();
			return max / 1e9;
		},
	};
}
