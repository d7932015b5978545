import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { scratchFolder } from "./scratch.ts";

/** Measures how long a server's event loop is blocked. */
export interface Turns {
	/** Script, with arguments, that starts the server. */
	readonly program: readonly string[];
	/** Processor time of the main thread's longest turn of the event loop since the previous call, in milliseconds. */
	longestMs(): Promise<number>;
}

/** Makes the meter of one server. Its figures are processor time: clock time would include the work of other processes. */
export function measureTurns(): Turns {
	const path = join(scratchFolder(), "turns.sock");
	return {
		program: [fileURLToPath(new URL("./turn-meter.ts", import.meta.url)), path],
		longestMs: async () => Number(await text(connect(path))) / 1000,
	};
}
