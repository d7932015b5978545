import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { scratchFolder } from "./scratch.ts";

/** Measures how long a server's event loop is held up. */
export interface Turns {
	/** Options of node that the server is started with. */
	readonly nodeOptions: readonly string[];
	/** Processor time of the main thread's longest turn of the event loop since this was last asked, in milliseconds. */
	longestMs(): Promise<number>;
}

/** Makes the meter of one server. Its figures are processor time: that of the clock would also be what other processes do. */
export function measureTurns(): Turns {
	const path = join(scratchFolder(), "turns.sock");
	const meter = new URL("./turn-meter.ts", import.meta.url);
	meter.searchParams.set("socket", path);
	return {
		nodeOptions: ["--import", meter.href],
		longestMs: async () => Number(await text(connect(path))) / 1000,
	};
}
