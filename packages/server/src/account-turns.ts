import { AppError } from "./errors.ts";
import type { Limit } from "./limits.ts";
import { createSemaphore, type Semaphore } from "./semaphore.ts";

/** Turns that accounts take at something costly: an account that asks for much waits for itself, and nobody else does. */
export interface AccountTurns {
	/**
	 * Does the work of an account, whose id is the key, when its turn comes.
	 * @throws AppError rate_limited, with Retry-After, when too much of this account's is waiting
	 */
	run: Semaphore["run"];
	/** The limit on waiting work, for display. */
	limit: Limit;
}

/** Describes such work. */
interface Costly {
	/** Names the limit, as in `promotions_waiting_per_account`. */
	name: string;
	/** The work, in the plural. */
	what: string;
	/** How much of one account, and of all together, is under way at a time. */
	each: number;
	all?: number;
	/** How much of one account waits. */
	waiting: number;
	hint: string;
}

/** Makes the turns. Design: §13 */
export function createAccountTurns({ name, what, each, all, waiting, hint }: Costly): AccountTurns {
	let refused = 0;
	const busy = () => {
		refused++;
		const message = `${waiting} ${what} of this account are already waiting (${name}): try again in a second`;
		return new AppError("rate_limited", message, { headers: { "retry-after": "1" } });
	};
	const turns = createSemaphore(all ?? Number.POSITIVE_INFINITY, { each, waiting, busy });
	return {
		run: turns.run,
		limit: { name, max: waiting, used: turns.fullest, refused: () => refused, hint },
	};
}
