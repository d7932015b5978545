import type { AuditEvent } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import type { CacheName } from "../../operation.ts";
import { madeEventIn, refuseEvent } from "../../policy/decide.ts";
import { closing, storeUnavailable } from "../errors.ts";
import type { Counted } from "../low-disk.ts";
import type { Changes } from "./changes.ts";
import { ConnectionLost } from "./connection.ts";
import { harmless, isUnable, reasonOf } from "./failure.ts";
import type { DatabaseThrottle } from "./low-disk.ts";
import type { DatabaseState } from "./state.ts";

/** An operation, or an event without a change. */
type Operation =
	| { event: AuditEvent }
	| { run: (...args: unknown[]) => Promise<unknown>; args: unknown[]; counted: Counted; forgets: readonly CacheName[] };

interface Waiting {
	operation: Operation;
	resolve(value: unknown): void;
	reject(error: unknown): void;
}

/** Queue of changes. */
export interface Writer {
	append(event: AuditEvent): Promise<void>;
	/**
	 * @param counted what counts while the database has little room
	 * @param forgets caches whose answers it may invalidate
	 */
	run(
		run: (...args: unknown[]) => Promise<unknown>,
		args: unknown[],
		counted: Counted,
		forgets: readonly CacheName[],
	): Promise<unknown>;
	/** Answers what was asked, and nothing more. */
	close(): Promise<void>;
}

/** Maximum number of operations in one transaction: no answer waits behind an endless one. */
const MAX_GROUP = 512;

type Outcome = { done: unknown } | { refused: AppError };

/** Circumstances of a queue. */
interface WriterOptions {
	/** Tells whether there is a connection. */
	isUp(): boolean;
	/** Gets why the last change failed, if the database could not write. */
	state: Pick<DatabaseState, "note">;
	/** Checks the maker of an event without a change, too: another server may have taken the right to a read since this one looked. */
	checksReads: boolean;
	/** Slows down callers that fill the database. */
	throttle: Pick<DatabaseThrottle, "refuse">;
}

/** Makes the queue: what arrives while a transaction commits is the next one. */
export function createWriter(changes: Changes, { isUp, state, checksReads, throttle }: WriterOptions): Writer {
	const waiting: Waiting[] = [];
	let draining: Promise<void> | undefined;
	let isClosing = false;

	async function drain(): Promise<void> {
		// The requests that are handled in this turn of the event loop share a transaction.
		await new Promise((resolve) => void setImmediate(resolve));
		while (waiting.length > 0) await settle(waiting.splice(0, MAX_GROUP));
		draining = undefined;
	}

	/** Runs operations together. If one throws, nothing of them was done, and each runs alone: only the one that throws gets its error. */
	async function settle(group: readonly Waiting[]): Promise<void> {
		try {
			const outcomes = await changes.alone(() => inOrder(group));
			state.note({ changes: undefined });
			for (const [index, outcome] of outcomes.entries()) answer(group[index], outcome);
		} catch (error) {
			const isOfDatabase = isUnable(error);
			// What becomes of a lost connection is noted by itself.
			state.note({ changes: isOfDatabase && !(error instanceof ConnectionLost) ? reasonOf(error) : undefined });
			const isOfAll = isOfDatabase || (error instanceof AppError && error.code === "store_unavailable");
			if (group.length > 1 && !isOfAll) for (const one of group) await settle([one]);
			else for (const one of group) one.reject(harmless(error));
		}
	}

	async function inOrder(group: readonly Waiting[]): Promise<Outcome[]> {
		const outcomes: Outcome[] = [];
		for (const { operation } of group) outcomes.push(await runOne(operation));
		return outcomes;
	}

	async function runOne(operation: Operation): Promise<Outcome> {
		const isAlone = "event" in operation;
		const tooMany = await throttle.refuse(isAlone ? { event: operation.event, count: 1 } : operation.counted);
		if (tooMany !== undefined) return { refused: tooMany };
		const event = isAlone ? madeEventIn(checksReads ? [operation.event] : []) : madeEventIn(operation.args);
		const refused = event && refuseEvent(await changes.change.accessOf(event), event);
		if (refused !== undefined) {
			if (refused.denied !== undefined) changes.change.append(refused.denied);
			return { refused: refused.answer };
		}
		if (isAlone) {
			changes.add(operation.event);
			return { done: undefined };
		}
		changes.forget(operation.forgets);
		const done = await operation.run(...operation.args);
		changes.finish();
		return { done };
	}

	function enqueue(operation: Operation): Promise<unknown> {
		if (!isUp()) return Promise.reject(storeUnavailable());
		if (isClosing) return Promise.reject(closing());
		return new Promise((resolve, reject) => {
			waiting.push({ operation, resolve, reject });
			draining ??= drain();
		});
	}

	return {
		append: async (event) => void (await enqueue({ event })),
		run: (run, args, counted, forgets) => enqueue({ run, args, counted, forgets }),
		async close() {
			isClosing = true;
			await draining;
		},
	};
}

function answer(waiting: Waiting | undefined, outcome: Outcome): void {
	if ("done" in outcome) waiting?.resolve(outcome.done);
	else waiting?.reject(outcome.refused);
}
