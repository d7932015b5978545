import type { Worker } from "node:worker_threads";
import { startThread } from "../../asset.ts";

/** Starts the thread that writes the database. It loads its program, and waits for a Writer to open the database; until then it keeps no process alive. */
export function startWriterThread(): Worker {
	const worker = startThread(new URL("./writer-thread.ts", import.meta.url));
	worker.unref();
	return worker;
}
