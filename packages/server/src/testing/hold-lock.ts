import { lockDataDirectory } from "../store/sqlite/files.ts";

/** The process's output when it has the data directory. */
export const HELD = "held";

// A server's process as far as its lock is concerned: it locks the data directory in its argument until it is killed.
if (import.meta.main) {
	lockDataDirectory(process.argv[2] ?? "");
	process.stdout.write(HELD);
	setInterval(() => undefined, 60_000);
}
