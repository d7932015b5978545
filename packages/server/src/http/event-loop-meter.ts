import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two samples; the result may be this much too high. At rest, sampling takes 0.9 % of a processor. */
const RESOLUTION_MS = 5;

/** Measures how long one turn kept all others waiting. */
export interface EventLoopMeter {
	/** Starts measuring. */
	start(): void;
	/** Stops measuring, so that an idle server sleeps. */
	stop(): void;
	/** Returns the longest turn of the event loop since the last call, in seconds. */
	longest(): number;
}

/** Makes the meter of the event loop's turns. Design: §13 */
export function createEventLoopMeter(): EventLoopMeter {
	const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
	let kept = 0;
	return {
		start() {
			// Without the reset, the pause in measuring would count as one turn.
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
