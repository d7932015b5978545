import type { CallerKeys } from "../fair-queue.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";

/** Divides the work on a page among turns of the event loop. */
interface Scheduler {
	step<T>(keys: CallerKeys, work: () => Promise<T>): Promise<T>;
	each<Item>(keys: CallerKeys, items: AsyncIterable<Item>): AsyncGenerator<Item>;
	map<Item, Made>(keys: CallerKeys, items: readonly Item[], make: (item: Item, index: number) => Made): Promise<Made[]>;
}

/** Dependencies of pages that look at many rows. */
export interface LargePageNeeds {
	/** One for all pages. */
	scheduler: Scheduler;
	comparisons: Pick<AccountSemaphore, "run">;
	key_lists: Pick<AccountSemaphore, "run">;
}

/** Bounds of large pages of one sort: each holds its rows, and what it makes of them, until it is complete. */
const BOUNDS = { each: 1, all: 4, waiting: 16, rests: true } as const;

/** Creates the semaphore of comparisons of environments, each of which opens every value of both. Design: §13 */
export function createComparisons(): AccountSemaphore {
	return createAccountSemaphore({
		...BOUNDS,
		name: "comparisons_waiting_per_account",
		what: "comparisons in the console",
		hint: "one account compares environments in the console in many requests at once: find the program that sends them",
	});
}

/** Creates the semaphore of lists of keys, which wait for no comparison. Design: §13 */
export function createKeyLists(): AccountSemaphore {
	return createAccountSemaphore({
		...BOUNDS,
		name: "key_lists_waiting_per_account",
		what: "lists of keys in the console",
		hint: "one account lists keys in the console in many requests at once: find the program that sends them",
	});
}
