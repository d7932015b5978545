import { AppError, clientGone } from "./errors.ts";
import { type CallerKeys, FairQueue } from "./fair-queue.ts";
import type { Limit } from "./limits.ts";
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

/** The fields of a caller (see Actor) that decide which quotas its work counts toward. */
export interface Caller {
	payer: string;
	user_id: string;
	machine: object | undefined;
	token_id: string | undefined;
	realm_id: string | null;
	environment: string | null;
	engines: readonly string[] | null;
}

/**
 * Names the quotas that a caller's work counts toward: the payer's and, within it, a person's, or a realm's and a machine's. A token that is limited to a
 * realm, an environment or engines counts like a machine. Two payers never have a key in common.
 */
export function keysOf(caller: Caller): CallerKeys {
	const { payer, user_id, machine, realm_id, environment, engines, token_id } = caller;
	const isLimited = machine !== undefined || realm_id !== null || environment !== null || engines !== null;
	if (!isLimited) return [payer, user_id];
	return [payer, `${payer} ${realm_id ?? ""}`, machine === undefined ? (token_id ?? user_id) : user_id];
}

/** Limits costly work per account: an account that asks for much waits, and others do not. */
export interface AccountSemaphore {
	/**
	 * Runs a caller's work when the turn of its account comes. Work whose request's connection closes before that is not begun.
	 * @throws AppError rate_limited, with Retry-After, when too much of this account's work is waiting, or of its machines
	 */
	run<T>(task: () => Promise<T>, caller: Caller): Promise<T>;
	/** The limit on waiting work, for display. */
	limit: Limit;
}

/** Describes the work to limit. */
interface Costly {
	/** Names the limit, as in `promotions_waiting_per_account`. */
	name: string;
	/** The work, in the plural. */
	what: string;
	/** Maximum tasks running at a time: of one account with its machines, and of all. */
	each: number;
	all?: number;
	/** Maximum waiting tasks of one account. */
	waiting: number;
	/** Keeps a task's turn for as long as the task took, once it has ended, so that other requests get as much of the server's time. */
	rests?: boolean;
	hint: string;
}

/** Maximum milliseconds that a turn is kept after its task. */
const MAX_REST_MS = 100;

/** Makes the semaphore. Design: §13 */
export function createAccountSemaphore({
	name,
	what,
	each,
	all,
	waiting,
	rests = false,
	hint,
}: Costly): AccountSemaphore {
	const busy = () => {
		const message = `${waiting} ${what} of this account, or its machines' part of them, are already waiting (${name}): try again in a second`;
		return new AppError("rate_limited", message, { headers: { "retry-after": "1" } });
	};
	const semaphore = createSemaphore(all ?? Number.POSITIVE_INFINITY, { each, waiting, busy });
	const waitOf = (caller: Caller) => ({ keys: keysOf(caller), left: clientGone });
	return {
		async run(task, caller) {
			if (!rests) return semaphore.run(task, waitOf(caller));
			const release = await semaphore.acquire(waitOf(caller));
			const began = performance.now();
			try {
				return await task();
			} finally {
				const rest_ms = Math.min(performance.now() - began, MAX_REST_MS);
				if (rest_ms < 1) release();
				else setTimeout(release, rest_ms);
			}
		},
		limit: { name, max: waiting, used: semaphore.fullest, refused: semaphore.refused, hint },
	};
}

/** Dependencies of rules that ask the store what may take it long. */
export interface QuestionNeeds {
	long_questions: Pick<AccountSemaphore, "run">;
}

/** Creates the semaphore of questions that may read many rows. One thread answers them, so two are begun: one in work, and the next. Design: §13 */
export function createLongQuestions(): AccountSemaphore {
	return createAccountSemaphore({
		name: "long_questions_waiting_per_account",
		what: "questions about events, leases or tokens",
		each: 1,
		all: 2,
		waiting: 64,
		hint: "one account asks for events, leases or tokens in many requests at once: let it send one request after another",
	});
}

/**
 * Creates the semaphore of verifications of the log, which may take minutes. It is one of its own, because no question should wait for them. Design: §13
 */
export function createVerifications(): AccountSemaphore {
	return createAccountSemaphore({
		name: "verifications_waiting_per_account",
		what: "verifications of the log",
		each: 1,
		all: 1,
		waiting: 16,
		hint: "one account verifies the log in many requests at once: let it wait for one answer before it asks again",
	});
}
