import { lockDataDirectory } from "../store/sqlite/files.ts";

/** What the process prints once it has the data directory. */
export const HELD = "held";

// A server's process as far as its lock is concerned: it takes the data directory of its argument and keeps it until it is killed.
if (import.meta.main) {
	lockDataDirectory(process.argv[2] ?? "");
	process.stdout.write(HELD);
	setInterval(() => undefined, 60_000);
}
