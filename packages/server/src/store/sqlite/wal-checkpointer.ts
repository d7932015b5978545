import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { startThread } from "../../shipped-file.ts";
import { codeOf, StorageFailure } from "./failure.ts";

/** Pages of 4 KiB that the thread moves at once. The disk syncs one file after the other: beside the sync of 1,000 a commit's own took 3 ms. */
const MOVED_PAGES = 250;

/** Length of the log, in pages, at which it starts over: the writer has to move the last of it itself, when nobody adds to it. */
const RESTART_PAGES = 8000;

/** Batches between two looks at how long the log is. */
const LOOK_EVERY = 4;

/** What came of moving the log: SQLite's code, or `""`, when it failed. */
export interface Moved {
	failure: string | undefined;
}

/** What the thread is told by its port: to move what it can, or to end. */
export type CheckpointRequest = "move" | "close";

/** What the thread is given: the database, and the port by which it is asked and answers. */
export interface CheckpointerData {
	file: string;
	port: MessagePort;
}

/** Moves the write-ahead log into the database, for the most part beside the writer. */
export interface WalCheckpointer {
	/**
	 * Looks how long the log is; to be called after each batch.
	 * @throws StorageFailure when moving it failed, as it does when a sync fails: nothing on this disk can be believed afterwards. Design: §4
	 */
	look(): void;
	/** Ends the thread, after what it is at; a failure of that is attempted as a step, too. */
	close(): Promise<void>;
}

/**
 * Makes what empties the writer's log. Its thread is started when there is something to move.
 * @param attempt runs a step of the writer's, which ends with a StorageFailure that the step throws
 */
export function createWalCheckpointer(
	db: Database,
	attempt: (step: () => void) => void,
	start: (data: CheckpointerData) => Worker = startCheckpointer,
): WalCheckpointer {
	const length = db.prepare("PRAGMA wal_checkpoint(NOOP)");
	const move = createMove(db);
	let thread: { port: MessagePort; exit: Promise<unknown> } | undefined;
	let isMoving = false;
	let batches = 0;
	const hear = ({ failure }: Moved): void => {
		if (failure === undefined || failure === "SQLITE_FULL" || failure === "SQLITE_BUSY") isMoving = false;
		// A thread that failed is never asked again, and neither does the writer move what it could not sync.
		else throw new StorageFailure(failure);
	};
	const launch = () => {
		const { port1: port, port2 } = new MessageChannel();
		const worker = start({ file: db.name, port: port2 });
		port.on("message", (moved: Moved) => attempt(() => hear(moved)));
		worker.on("error", (error) => attempt(() => hear({ failure: codeOf(error) })));
		port.unref();
		worker.unref();
		return { port, exit: new Promise((resolve) => worker.once("exit", resolve)) };
	};
	return {
		look() {
			// While batches follow each other the event loop does not get to the port.
			const answer = thread && receiveMessageOnPort(thread.port);
			if (answer !== undefined) hear(answer.message as Moved);
			if (isMoving || ++batches % LOOK_EVERY !== 0) return;
			const { log, checkpointed } = length.get() as { log: number; checkpointed: number };
			// However much is left: batches of large values would leave that much each time, and the log would grow for ever.
			if (log >= RESTART_PAGES) hear(move());
			else if (log - checkpointed >= MOVED_PAGES) {
				thread ??= launch();
				isMoving = true;
				thread.port.postMessage("move" satisfies CheckpointRequest);
			}
		},
		async close() {
			if (thread === undefined) return;
			thread.port.postMessage("close" satisfies CheckpointRequest);
			await thread.exit;
			// What it answered last may be a failure that nobody has heard of yet.
			const answer = receiveMessageOnPort(thread.port);
			if (answer !== undefined) attempt(() => hear(answer.message as Moved));
		},
	};
}

/** Makes the function that moves as much of the log as is possible without waiting for anybody. */
export function createMove(db: Database): () => Moved {
	const statement = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
	return () => {
		try {
			statement.get();
			return { failure: undefined };
		} catch (error) {
			return { failure: codeOf(error) };
		}
	};
}

function startCheckpointer(data: CheckpointerData): Worker {
	return startThread(new URL("./wal-checkpointer-thread.ts", import.meta.url), {
		workerData: data,
		transferList: [data.port],
	});
}
