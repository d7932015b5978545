import { workerData } from "node:worker_threads";
import { openCheckpointer } from "./open.ts";
import { type CheckpointerData, type CheckpointRequest, createMove } from "./wal-checkpointer.ts";

/* Moves the write-ahead log into the database on request, while the writer goes on. */
const { file, port } = workerData as CheckpointerData;
const db = openCheckpointer(file);
const move = createMove(db);
port.on("message", (request: CheckpointRequest) => {
	if (request === "move") return port.postMessage(move());
	db.close();
	port.close();
});
