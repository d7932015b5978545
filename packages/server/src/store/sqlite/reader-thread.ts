import { parentPort, workerData } from "node:worker_threads";
import type { Implementations } from "../store.ts";
import { auditLog } from "./audit-log.ts";
import { copyQuestions } from "./copy-questions.ts";
import { codeOf } from "./failure.ts";
import { leaseLists } from "./lease-lists.ts";
import { openReader } from "./open.ts";
import { realmLists } from "./realm-lists.ts";
import { secretSnapshots } from "./secret-snapshots.ts";
import { tokenLines } from "./token-lines.ts";
import { withBuffers } from "./transfer.ts";

/** A question to the thread: its number, noun and verb, the arguments. */
export type ReaderRequest = [id: number, noun: string, verb: string, ...args: unknown[]];

/** Its answer. */
export type ReaderAnswer = { id: number; value: unknown } | { id: number; error: string; code: string };

/** What the thread can be asked, by noun. */
export type LongQuestions = typeof questions;

const port = parentPort;
if (port === null) throw new Error("the reader runs in a worker thread");
const db = openReader(workerData as string, "long");
const { copyTo, ...aboutCopies } = copyQuestions(db);
const questions = {
	audit: auditLog(db),
	backups: { copyTo },
	copies: aboutCopies,
	leases: leaseLists(db),
	realms: realmLists(db),
	secrets: secretSnapshots(db),
	tokens: tokenLines(db),
} satisfies Implementations<"scan"> & { copies: unknown };

type Verb = (...args: unknown[]) => unknown;

port.on("message", ([id, noun, verb, ...args]: ReaderRequest) => {
	try {
		const question = (questions as unknown as Record<string, Record<string, Verb>>)[noun]?.[verb];
		if (question === undefined) throw new Error(`unknown question ${noun}.${verb}`);
		port.postMessage({ id, value: question(...args.map(withBuffers)) } satisfies ReaderAnswer);
	} catch (error) {
		port.postMessage({ id, error: (error as Error).message, code: codeOf(error) } satisfies ReaderAnswer);
	}
});
