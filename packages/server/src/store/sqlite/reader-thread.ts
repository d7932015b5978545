import { parentPort, workerData } from "node:worker_threads";
import { type AuditLog, auditLog } from "./audit-log.ts";
import { openReader } from "./open.ts";
import { withBuffers } from "./transfer.ts";

/** A question to the thread: its number, the verb, the arguments. */
export type ReaderRequest = [id: number, verb: keyof AuditLog, ...args: unknown[]];

/** Its answer. */
export type ReaderAnswer = { id: number; value: unknown } | { id: number; error: string };

const port = parentPort;
if (port === null) throw new Error("the reader runs in a worker thread");
const log = auditLog(openReader(workerData as string)) as unknown as Record<string, (...args: unknown[]) => unknown>;

port.on("message", ([id, verb, ...args]: ReaderRequest) => {
	try {
		port.postMessage({ id, value: log[verb]?.(...args.map(withBuffers)) } satisfies ReaderAnswer);
	} catch (error) {
		port.postMessage({ id, error: (error as Error).message } satisfies ReaderAnswer);
	}
});
