import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { createRowMacs, type RowKey } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { system } from "../../system.ts";
import { type BatchReport, createBatches, type Operation, unpack } from "./batch.ts";
import { codeOf, StorageFailure } from "./failure.ts";
import { migrate } from "./migrate.ts";
import { openWriter } from "./open.ts";
import { guardReads } from "./row-guard.ts";
import { keepLog, openChain, openTip } from "./tip.ts";
import { createWalCheckpointer } from "./wal-checkpointer.ts";
import { allWrites } from "./writes/all.ts";

/** The database that the thread opens. */
export interface WriterInput {
	file: string;
	/** Start of the server, ISO 8601 UTC: the time recorded for migrations. */
	now: string;
	/** Whether the server believed this directory's database before: an empty one is then altered, not new. */
	was_adopted: boolean;
}

/** The keys that rows are authenticated with, the active one first. Later ones take the place of the first ones. */
export interface WriterKeys {
	row_keys: RowKey[];
}

/**
 * Message to the thread: first the database to open, then the keys of its rows, then operations to run in one transaction, at last the end. Rows that are
 * written before the keys came have no MAC.
 */
export type WriterRequest = WriterInput | WriterKeys | Operation[] | "close";

/**
 * Message from the thread: `ready` once, then a report for each batch, or the reason why it cannot go on; `guarded` once the keys came, and `altered`
 * before the report of the first batch that found the schema altered.
 */
export type WriterMessage =
	| { kind: "ready"; tip: BatchReport["tip"] }
	| { kind: "guarded"; altered: string[] }
	| { kind: "altered"; altered: string[] }
	| { kind: "report"; report: BatchReport }
	| EventsReport
	| { kind: "failure"; message: string; code: string };

/** Report of a batch in which everything is done without a result: most are of events only, and objects cross five times as slowly. */
export type EventsReport = readonly [count: number, seq: number, hash: string];

/** Approximate number of operations in one transaction: no answer waits behind an endless batch. */
const MAX_BATCH = 512;

const port = parentPort;
if (port === null) throw new Error("the writer runs in a worker thread");
const send = (message: WriterMessage) => port.postMessage(message);
let hasFailed = false;

function messageOf(report: BatchReport): WriterMessage {
	const { count, outcomes, tip } = report;
	return outcomes === undefined
		? [count, tip.seq, (tip.hash as Buffer).toString("latin1")]
		: { kind: "report", report };
}

/** Runs a step; a failure is sent and ends the thread, which takes no further step. */
function attempt(step: () => void): void {
	if (hasFailed) return;
	try {
		step();
	} catch (error) {
		hasFailed = true;
		const isKnown = error instanceof FatalError || error instanceof StorageFailure;
		send({ kind: "failure", message: isKnown ? error.message : "", code: codeOf(error) });
		// Requests that have arrived already must not run either: no later success could be trusted.
		port?.removeAllListeners("message");
		port?.close();
	}
}

/** A request after the database is open. */
type LaterRequest = Exclude<WriterRequest, WriterInput>;

const isOperations = (request: LaterRequest): request is Operation[] => Array.isArray(request);

/**
 * Adds operations that have arrived meanwhile, so that one fsync serves all.
 * @returns also the request of another kind that arrived after them
 */
function gather(first: Operation[]): { batch: Operation[]; next: Exclude<LaterRequest, Operation[]> | undefined } {
	const batch = unpack(first);
	while (batch.length < MAX_BATCH && port !== null) {
		const next = receiveMessageOnPort(port)?.message as LaterRequest | undefined;
		if (next === undefined) break;
		if (!isOperations(next)) return { batch, next };
		batch.push(...unpack(next));
	}
	return { batch, next: undefined };
}

function open(port: MessagePort, { file, now, was_adopted }: WriterInput): void {
	const db = openWriter(file);
	// What the migrations wrote would start the thread that moves the log.
	if (migrate(db, now) > 0) db.pragma("wal_checkpoint(PASSIVE)");
	const chain = openChain(db);
	const macs = createRowMacs(undefined, system.randomBytes);
	guardReads(db, macs);
	const writes = allWrites(db, chain.append);
	let isGuarded = false;
	let run = createBatches(db, chain, writes, keepLog(chain));
	const guard = ({ row_keys }: WriterKeys) => {
		macs.use(row_keys);
		if (isGuarded) return send({ kind: "guarded", altered: [] });
		isGuarded = true;
		const onAltered = (found: string[]) => send({ kind: "altered", altered: found });
		const { altered, keeper } = openTip(db, chain, macs, was_adopted, onAltered);
		run = createBatches(db, chain, writes, keeper);
		send({ kind: "guarded", altered });
	};
	const log = createWalCheckpointer(db, attempt);
	const receive = (request: LaterRequest) => {
		if (request === "close") void log.close().then(() => attempt(end));
		else if (!isOperations(request)) attempt(() => guard(request));
		else
			attempt(() => {
				const { batch, next } = gather(request);
				send(messageOf(run(batch)));
				if (next !== undefined) receive(next);
				if (next !== "close") log.check();
			});
	};
	port.on("message", receive);
	const end = () => {
		db.pragma("wal_checkpoint(TRUNCATE)");
		db.close();
		port.close();
	};
	send({ kind: "ready", tip: chain.tip() });
}

port.once("message", (request: WriterInput | "close") => {
	if (request === "close") port.close();
	else attempt(() => open(port, request));
});
