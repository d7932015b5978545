import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { startThread } from "../../asset.ts";
import { codeOf, StorageFailure } from "./failure.ts";

/** Pages of 4 KiB that the thread moves at a time. The disk syncs one file after another: a commit's sync took 3 ms during one of 1,000 pages. */
const MOVED_PAGES = 250;

/** Length of the log, in pages, at which it starts over: the writer must move its last part itself, while nothing is added. */
const RESTART_PAGES = 8000;

/** Batches between two checks of the log's length. */
const LOOK_EVERY = 4;

/** Result of moving the log: SQLite's code, or `""`, when it failed. */
export interface Moved {
	failure: string | undefined;
}

/** Request to the thread: move what it can, or end. */
export type CheckpointRequest = "move" | "close";

/** Input of the thread: the database, and the port for requests and answers. */
export interface CheckpointerData {
	file: string;
	port: MessagePort;
}

/** Moves the write-ahead log into the database, mostly in parallel with the writer. */
export interface WalCheckpointer {
	/**
	 * Checks the length of the log; call it after each batch.
	 * @throws StorageFailure when moving it failed, for example a sync: nothing on this disk can be trusted afterwards. Design: §4
	 */
	check(): void;
	/** Ends the thread after its current work; a failure of that work goes through `attempt`, too. */
	close(): Promise<void>;
}

/**
 * Makes the checkpointer of the writer's log. Its thread starts when there is something to move.
 * @param attempt runs a step of the writer, which ends when the step throws a StorageFailure
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
	const noteMoved = ({ failure }: Moved): void => {
		if (failure === undefined || failure === "SQLITE_FULL" || failure === "SQLITE_BUSY") isMoving = false;
		// A failed thread is never asked again, and the writer does not move pages that the thread could not sync.
		else throw new StorageFailure(failure);
	};
	const launch = () => {
		const { port1: port, port2 } = new MessageChannel();
		const worker = start({ file: db.name, port: port2 });
		port.on("message", (moved: Moved) => attempt(() => noteMoved(moved)));
		worker.on("error", (error) => attempt(() => noteMoved({ failure: codeOf(error) })));
		port.unref();
		worker.unref();
		return { port, exit: new Promise((resolve) => worker.once("exit", resolve)) };
	};
	return {
		check() {
			// While batches follow each other, the event loop does not reach the port.
			const answer = thread && receiveMessageOnPort(thread.port);
			if (answer !== undefined) noteMoved(answer.message as Moved);
			if (isMoving || ++batches % LOOK_EVERY !== 0) return;
			const { log, checkpointed } = length.get() as { log: number; checkpointed: number };
			// Regardless of how much is left: batches of large values leave as much each time, and the log would grow forever.
			if (log >= RESTART_PAGES) noteMoved(move());
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
			// Its last answer may be a failure that nobody has read yet.
			const answer = receiveMessageOnPort(thread.port);
			if (answer !== undefined) attempt(() => noteMoved(answer.message as Moved));
		},
	};
}

/** Makes the function that moves as much of the log as possible without waiting for readers or writers. */
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
