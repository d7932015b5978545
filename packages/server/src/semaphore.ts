import { FairQueue } from "./fair-queue.ts";
import { onClientGone, releaseSlot } from "./request-slot.ts";

/** Bounds on the tasks of one key, and the error of a task that does not get its turn. */
export interface KeyBounds {
	/** Tasks of one key that run at once. */
	each: number;
	/** Tasks of one key that wait. */
	waiting: number;
	/** Makes the error when too many wait, or the turn does not come in time. */
	busy(): Error;
}

/** How a task waits. */
interface Wait {
	/** Keys take turns. */
	key?: string;
	/** Milliseconds after which a task that has not begun never will. */
	limit_ms?: number;
	/** Makes the error of a task that has not begun when its request's client goes. Without it, the task waits on. */
	left?(): Error;
}

/** Limits how many tasks run at once. A waiting task holds no request slot. */
export interface Semaphore {
	/** Waits for a permit. @returns the function that releases it; calling it twice is harmless */
	acquire(wait?: Wait): Promise<() => void>;
	/** Runs a task when its turn comes. */
	run<T>(task: () => Promise<T>, wait?: Wait): Promise<T>;
	/** Counts the waiting tasks of the key that has most. */
	fullest(): number;
	/** Counts the tasks that did not get their turn. */
	refused(): number;
}

/** A task that waits. */
interface Waiting {
	key: string;
	begin(): void;
}

const UNBOUNDED: KeyBounds = {
	each: Number.POSITIVE_INFINITY,
	waiting: Number.POSITIVE_INFINITY,
	busy: () => new Error("the turn did not come in time"),
};

/** Counts the errors that a function makes. */
function counted(make: () => Error): { busy: () => Error; refused: () => number } {
	let refused = 0;
	const busy = () => {
		refused++;
		return make();
	};
	return { busy, refused: () => refused };
}

/**
 * Makes a semaphore. Tasks of one key run in the order they came; without bounds, all tasks may.
 * @param width tasks that run at once, of all keys
 */
export function createSemaphore(width: number, bounds: Partial<KeyBounds> = {}): Semaphore {
	const { each, waiting: most, ...made } = { ...UNBOUNDED, ...bounds };
	const { busy, refused } = counted(made.busy);
	const waiting = new FairQueue<Waiting>();
	const running = new Map<string, number>();
	let total = 0;
	const isFree = ({ key }: { key: string }) => total < width && (running.get(key) ?? 0) < each;

	function begin(key: string): void {
		total++;
		running.set(key, (running.get(key) ?? 0) + 1);
	}

	function end(key: string): void {
		total--;
		const left = (running.get(key) ?? 0) - 1;
		if (left > 0) running.set(key, left);
		else running.delete(key);
		const next = waiting.take(isFree);
		if (next !== undefined) begin(next.key);
		next?.begin();
	}

	/** @returns a promise of the permit, or undefined when it is granted immediately */
	function enter(given: Wait): Promise<void> | undefined {
		releaseSlot();
		const { key = "" } = given;
		if (!isFree({ key })) return waiting.count(key) >= most ? Promise.reject(busy()) : waitIn(waiting, given, busy);
		begin(key);
		return undefined;
	}

	return {
		async acquire(given = {}) {
			await enter(given);
			let isReleased = false;
			return () => {
				if (!isReleased) end(given.key ?? "");
				isReleased = true;
			};
		},
		async run(task, given = {}) {
			const granted = enter(given);
			if (granted !== undefined) await granted;
			try {
				return await task();
			} finally {
				end(given.key ?? "");
			}
		},
		fullest: () => waiting.fullest(),
		refused,
	};
}

/** Waits in a queue until the task begins, its time is over, or its client goes. */
function waitIn(waiting: FairQueue<Waiting>, { key = "", limit_ms, left }: Wait, busy: () => Error): Promise<void> {
	return new Promise((resolve, reject) => {
		const settle = () => {
			clearTimeout(timer);
			forget?.();
		};
		const entry = {
			key,
			begin: () => {
				settle();
				resolve();
			},
		};
		const giveUp = (error: Error) => {
			settle();
			waiting.remove(entry, key);
			reject(error);
		};
		const timer = limit_ms === undefined ? undefined : setTimeout(() => giveUp(busy()), limit_ms);
		const forget = left && onClientGone(() => giveUp(left()));
		waiting.add(entry, key);
	});
}
