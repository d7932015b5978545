import { workerData } from "node:worker_threads";
import { createMove, type MoverData, type MoverRequest } from "./log-emptier.ts";
import { openMover } from "./open.ts";

/* Moves the write-ahead log into the database whenever it is asked to, while the writer goes on. */
const { file, port } = workerData as MoverData;
const db = openMover(file);
const move = createMove(db);
port.on("message", (request: MoverRequest) => {
	if (request === "move") return port.postMessage(move());
	db.close();
	port.close();
});
