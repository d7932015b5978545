import { setImmediate } from "node:timers/promises";
import { lockDataDirectory } from "../store/sqlite/files.ts";

/** The process's output when it has the data directory. */
export const HELD = "held";

// Locks the data directory in its argument, as a server does, until it is killed. The collector runs once: the lock must outlive it.
if (import.meta.main) {
	lockDataDirectory(process.argv[2] ?? "");
	await setImmediate();
	globalThis.gc?.();
	await setImmediate();
	process.stdout.write(HELD);
	setInterval(() => undefined, 60_000);
}
