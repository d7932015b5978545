import type { Database } from "better-sqlite3";
import type { Chain } from "../../audit/chain.ts";
import { AppError, type ErrorCode } from "../../errors.ts";
import { type MadeEvent, madeEventIn, refuseEvent } from "../../policy/decide.ts";
import { readEvent } from "./event-line.ts";
import { codeOf, isFatal, StorageFailure } from "./failure.ts";
import type { TipKeeper } from "./tip.ts";
import type { Writes } from "./writes/all.ts";
import { type AccessRows, accessRows, currentAccess, rememberAccess } from "./writes/current-access.ts";

/**
 * An operation as it crosses to the writer thread: noun, verb, arguments, never a closure; or an event without a change, as a line.
 */
export type Operation = string | readonly [noun: string, verb: string, ...args: unknown[]];

/** Joins consecutive events into one text: the cost of a message grows with its parts. */
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

/** Outcome of an operation. All but `done` changed nothing; `refused`: its maker has lost the right to it. */
export type Outcome =
	| { done: unknown }
	| { refused: { code: ErrorCode; message: string } }
	| { full: true }
	| { busy: true }
	| { failed: { name: string; message: string; code: string } };

/** Outcome of a batch, and the end of the audit chain after it. */
export interface BatchReport {
	/** Operations that were run. */
	count: number;
	/** In the order of the operations; undefined when all are done without a result. */
	outcomes: Outcome[] | undefined;
	tip: { seq: number; hash: Uint8Array };
}

/**
 * Makes the function that runs operations in one transaction and returns once it is durable. Each has its own savepoint, so that one that
 * throws undoes only itself; a full disk undoes all.
 * The function throws StorageFailure on an I/O error or corruption: after a failed fsync no later success can be trusted.
 */
export function createBatches(
	db: Database,
	chain: Chain,
	writes: Writes,
	keeper: TipKeeper,
): (operations: readonly Operation[]) => BatchReport {
	const access = rememberAccess(accessRows(db), keeper.accessChanges);
	const runOne = createRunner(db, chain, writes, keeper, access.rows);
	// `exec` would parse them each time, in 20 µs.
	const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];
	return (operations) => {
		const start = keeper.point();
		try {
			begin.run();
			keeper.begin();
			access.forget();
			const outcomes = operations.map(runOne);
			keeper.seal();
			commit.run();
			const isAllDone = outcomes.every((outcome) => outcome === DONE);
			return { count: operations.length, outcomes: isAllDone ? undefined : outcomes, tip: chain.tip() };
		} catch (error) {
			if (db.inTransaction) db.exec("ROLLBACK");
			keeper.rewind(start);
			const code = codeOf(error);
			const outcome: Outcome | undefined = TAKEN_BACK[code];
			if (outcome === undefined) throw new StorageFailure(code);
			return { count: operations.length, outcomes: operations.map(() => outcome), tip: start.tip };
		}
	};
}

/** Errors that undo a whole batch and leave the storage as sound as before. */
const TAKEN_BACK: Record<string, Outcome> = { SQLITE_FULL: { full: true }, SQLITE_BUSY: { busy: true } };

/** The outcome of an event without a change. */
const DONE: Outcome = { done: undefined };

type Verb = (...args: unknown[]) => unknown;

function createRunner(
	db: Database,
	chain: Chain,
	writes: Writes,
	keeper: TipKeeper,
	access: AccessRows,
): (item: Operation) => Outcome {
	const [enter, leave] = [db.prepare("SAVEPOINT item"), db.prepare("RELEASE item")];
	const refuse = createRefusal(chain, access);
	return (item) => {
		if (typeof item === "string") {
			// One statement undoes itself when it fails, and needs no savepoint.
			chain.add(readEvent(item));
			return DONE;
		}
		const [noun, verb, ...args] = item;
		const operation = (writes as unknown as Record<string, Record<string, Verb>>)[noun]?.[verb];
		if (operation === undefined) throw new StorageFailure(`unknown operation ${noun}.${verb}`);
		const event = madeEventIn(args);
		const refused = event === undefined ? undefined : refuse(event);
		if (refused !== undefined) return refused;
		const before = keeper.point();
		enter.run();
		try {
			const done = operation(...args);
			chain.finish();
			leave.run();
			return { done };
		} catch (error) {
			const code = codeOf(error);
			if (!db.inTransaction || code === "SQLITE_FULL" || isFatal(code)) throw error;
			db.exec("ROLLBACK TO item; RELEASE item");
			keeper.rewind(before);
			if (error instanceof AppError) return { refused: { code: error.code, message: error.message } };
			const { name, message } = error as Error;
			return { failed: { name, message: code === "" ? message : code, code } };
		}
	};
}

/** Makes the refusal of a change whose maker has lost the right to it. */
function createRefusal(chain: Chain, access: AccessRows): (event: MadeEvent) => Outcome | undefined {
	return (event) => {
		const refused = refuseEvent(currentAccess(access, event.timestamp), event);
		if (refused === undefined) return undefined;
		if (refused.denied !== undefined) chain.append(refused.denied);
		return { refused: { code: refused.answer.code, message: refused.answer.message } };
	};
}
