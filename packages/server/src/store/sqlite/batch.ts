import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../audit/model.ts";
import type { ErrorCode } from "../../errors.ts";
import { refuseMaker } from "../../policy/decide.ts";
import { readEvent } from "./event-line.ts";
import { codeOf, isFatal, StorageFailure } from "./failure.ts";
import type { Writes } from "./writes/all.ts";
import type { Chain } from "./writes/audit.ts";
import { currentAccess } from "./writes/current-access.ts";

/**
 * An operation as it crosses to the writer thread: noun, verb, arguments, never a closure; or an event that stands alone, as a line.
 */
export type Operation = string | readonly [noun: string, verb: string, ...args: unknown[]];

/** Makes one text of events that follow each other: a message costs by its parts. */
export function pack(operations: readonly Operation[]): Operation[] {
	const packed: Operation[] = [];
	for (const operation of operations) {
		const last = packed.at(-1);
		if (typeof operation === "string" && typeof last === "string") packed[packed.length - 1] = `${last}\n${operation}`;
		else packed.push(operation);
	}
	return packed;
}

/** Undoes `pack`. */
export function unpack(packed: readonly Operation[]): Operation[] {
	return packed.flatMap<Operation>((item) => (typeof item === "string" ? item.split("\n") : [item]));
}

/** What became of an operation. All but `done` changed nothing; `refused`: its maker may not make it any more. */
export type Outcome =
	| { done: unknown }
	| { refused: { code: ErrorCode; message: string } }
	| { full: true }
	| { busy: true }
	| { failed: { name: string; message: string; code: string } };

/** What became of a batch, and the end of the audit chain after it. */
export interface BatchReport {
	/** Operations that were run. */
	count: number;
	/** In the order of the operations; undefined when all are done and none has a result. */
	outcomes: Outcome[] | undefined;
	tip: { seq: number; hash: Uint8Array };
}

/**
 * Makes the function that runs operations in one transaction and returns once it is durable. Each has its own savepoint, so that one that
 * throws takes only itself back; when the disk is full all are taken back.
 * The function throws StorageFailure on an I/O error or corruption: after a failed fsync no later success can be believed.
 */
export function createBatches(
	db: Database,
	chain: Chain,
	writes: Writes,
): (operations: readonly Operation[]) => BatchReport {
	const runOne = createRunner(db, chain, writes);
	// `exec` would parse them each time, which takes 20 µs.
	const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];
	return (operations) => {
		const start = chain.tip();
		try {
			begin.run();
			const outcomes = operations.map(runOne);
			commit.run();
			const isAllDone = outcomes.every((outcome) => outcome === DONE);
			return { count: operations.length, outcomes: isAllDone ? undefined : outcomes, tip: chain.tip() };
		} catch (error) {
			if (db.inTransaction) db.exec("ROLLBACK");
			chain.rewind(start);
			const code = codeOf(error);
			const outcome: Outcome | undefined = TAKEN_BACK[code];
			if (outcome === undefined) throw new StorageFailure(code);
			return { count: operations.length, outcomes: operations.map(() => outcome), tip: start };
		}
	};
}

/** What has gone wrong when a whole batch was taken back and the storage is as sound as before. */
const TAKEN_BACK: Record<string, Outcome> = { SQLITE_FULL: { full: true }, SQLITE_BUSY: { busy: true } };

/** The outcome of an event that stands alone. */
const DONE: Outcome = { done: undefined };

type Verb = (...args: unknown[]) => unknown;

function createRunner(db: Database, chain: Chain, writes: Writes): (item: Operation) => Outcome {
	const [enter, leave] = [db.prepare("SAVEPOINT item"), db.prepare("RELEASE item")];
	const refuse = createRefusal(db, chain);
	return (item) => {
		if (typeof item === "string") {
			// One statement takes itself back when it fails, and needs no savepoint.
			chain.add(readEvent(item));
			return DONE;
		}
		const [noun, verb, ...args] = item;
		const operation = (writes as unknown as Record<string, Record<string, Verb>>)[noun]?.[verb];
		if (operation === undefined) throw new StorageFailure(`unknown operation ${noun}.${verb}`);
		const event = args.find(isByMaker);
		const refused = event === undefined ? undefined : refuse(event);
		if (refused !== undefined) return refused;
		const before = chain.tip();
		enter.run();
		try {
			const done = operation(...args);
			leave.run();
			return { done };
		} catch (error) {
			const code = codeOf(error);
			if (!db.inTransaction || code === "SQLITE_FULL" || isFatal(code)) throw error;
			db.exec("ROLLBACK TO item; RELEASE item");
			chain.rewind(before);
			const { name, message } = error as Error;
			return { failed: { name, message: code === "" ? message : code, code } };
		}
	};
}

/** The event of a change that somebody makes. */
type MadeEvent = AuditEvent & Required<Pick<AuditEvent, "maker">>;

/** Wherever it stands among what an operation is given. */
function isByMaker(given: unknown): given is MadeEvent {
	return typeof given === "object" && given !== null && "maker" in given && given.maker !== undefined;
}

/** Prepares the refusal of a change that its maker may not make any more; it is in the log as if the rule itself had refused. Design: §13 */
function createRefusal(db: Database, chain: Chain): (event: MadeEvent) => Outcome | undefined {
	const accessAt = currentAccess(db);
	return ({ maker, timestamp, data, ...about }) => {
		const refused = refuseMaker(accessAt(timestamp), maker);
		if (refused === undefined) return undefined;
		const { answer, wanted } = refused;
		const { request_id, ip, token_id } = data;
		const facts = { wanted, reason: answer.code, request_id, ip, token_id };
		if (wanted !== undefined) chain.append({ ...about, timestamp, type: "access.denied", data: facts });
		return { refused: { code: answer.code, message: answer.message } };
	};
}
