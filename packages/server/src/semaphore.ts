import { type CallerKeys, FairQueue } from "./fair-queue.ts";
import { onClientGone, releaseSlot } from "./request-slot.ts";

/** Bounds on the tasks of one outermost key, of which a machine's may take a part, and the error of a task that does not get its turn. */
export interface KeyBounds {
	/** Tasks that run at once. */
	each: number;
	/** Tasks that wait. */
	waiting: number;
	/** Makes the error when too many wait, or the turn does not come in time. */
	busy(): Error;
}

/** How a task waits. */
interface Wait {
	/** Keys take turns, and so do those within each. */
	keys?: CallerKeys;
	/** Milliseconds after which a task that has not begun never will. */
	limit_ms?: number;
	/** Makes the error of a task that has not begun when its request's client goes. Without it, the task waits on. */
	left?(): Error;
	/** Set for short work: its request keeps its slot while it waits and runs. */
	keepsSlot?: boolean;
}

/** Limits how many tasks run at once. A task holds no request slot, unless it says so. */
export interface Semaphore {
	/** Waits for a permit. @returns the function that releases it; calling it twice is harmless */
	acquire(wait?: Wait): Promise<() => void>;
	/** Runs a task when its turn comes. */
	run<T>(task: () => Promise<T>, wait?: Wait): Promise<T>;
	/** Counts the waiting tasks of the outermost key that has most, scaled where those of a machine are nearer to their limit. */
	fullest(): number;
	/** Counts the tasks that did not get their turn. */
	refused(): number;
}

/** A task that runs. */
interface Running {
	keys: CallerKeys;
}

/** A task that waits. */
interface Waiting extends Running {
	begin(): void;
}

const UNBOUNDED: KeyBounds = {
	each: Number.POSITIVE_INFINITY,
	waiting: Number.POSITIVE_INFINITY,
	busy: () => new Error("the turn did not come in time"),
};

const NO_KEYS: CallerKeys = [""];

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
	const running = new FairQueue<Running>();
	const isFree = ({ keys }: Running) => running.size < width && running.hasRoom(each, keys);

	function end(task: Running): void {
		if (!running.remove(task, ...task.keys)) return;
		// One that ends may make room for two: for one of another account, and for one of its own that had its part.
		while (running.size < width) {
			const next = waiting.take(isFree);
			if (next === undefined) return;
			running.add(next, ...next.keys);
			next.begin();
		}
	}

	/** @returns the task, or a promise of it unless it may run immediately */
	function enter({ keys = NO_KEYS, keepsSlot = false, ...wait }: Wait): Promise<Running> | Running {
		if (!keepsSlot) releaseSlot();
		const task: Running = { keys };
		if (!isFree(task))
			return waiting.hasRoom(most, keys) ? waitIn(waiting, { ...wait, keys }, busy) : Promise.reject(busy());
		running.add(task, ...keys);
		return task;
	}

	return {
		async acquire(given = {}) {
			const task = await enter(given);
			return () => end(task);
		},
		async run(work, given = {}) {
			const entered = enter(given);
			const task = entered instanceof Promise ? await entered : entered;
			try {
				return await work();
			} finally {
				end(task);
			}
		},
		fullest: () => waiting.highestUse(most),
		refused,
	};
}

/** Waits in a queue until the task begins, its time is over, or its client goes. */
function waitIn(
	waiting: FairQueue<Waiting>,
	{ keys, limit_ms, left }: Wait & Running,
	busy: () => Error,
): Promise<Running> {
	return new Promise((resolve, reject) => {
		const settle = () => {
			clearTimeout(timer);
			forget?.();
		};
		const entry: Waiting = {
			keys,
			begin: () => {
				settle();
				resolve(entry);
			},
		};
		const giveUp = (error: Error) => {
			settle();
			waiting.remove(entry, ...keys);
			reject(error);
		};
		const timer = limit_ms === undefined ? undefined : setTimeout(() => giveUp(busy()), limit_ms);
		const forget = left && onClientGone(() => giveUp(left()));
		waiting.add(entry, ...keys);
	});
}
