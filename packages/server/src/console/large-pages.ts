import { type AccountSemaphore, createAccountSemaphore } from "../account-semaphore.ts";
import type { CallerKeys } from "../fair-queue.ts";

/** Divides the work on a page among turns of the event loop. */
interface Pace {
	step<T>(keys: CallerKeys, work: () => Promise<T>): Promise<T>;
	each<Item>(keys: CallerKeys, items: AsyncIterable<Item>): AsyncGenerator<Item>;
	map<Item, Made>(keys: CallerKeys, items: readonly Item[], make: (item: Item, index: number) => Made): Promise<Made[]>;
}

/** Dependencies of pages that look at many rows. */
export interface LargePageNeeds {
	/** One for all pages. */
	pace: Pace;
	large_pages: Pick<AccountSemaphore, "run">;
}

/** Makes the turns of large pages: each holds its rows, and what it makes of them, until it is complete. Design: §13 */
export function createLargePages(): AccountSemaphore {
	return createAccountSemaphore({
		name: "large_pages_waiting_per_account",
		what: "large pages of the console",
		each: 1,
		all: 8,
		waiting: 16,
		hint: "one account opens large pages of the console in many requests at once: find the program that does",
	});
}
