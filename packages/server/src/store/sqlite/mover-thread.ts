import { workerData } from "node:worker_threads";
import { createMove, type MoverData } from "./log-emptier.ts";
import { openMover } from "./open.ts";

/* Moves the write-ahead log into the database whenever it is asked to, while the writer goes on. */
const { file, port } = workerData as MoverData;
const db = openMover(file);
const move = createMove(db);
port.on("message", () => port.postMessage(move()));
port.once("close", () => db.close());
