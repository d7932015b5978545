import { AppError, clientGone } from "./errors.ts";
import type { CallerKeys } from "./fair-queue.ts";
import type { Limit } from "./limits.ts";
import { createSemaphore } from "./semaphore.ts";

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
	hint: string;
}

/** Makes the semaphore. Design: §13 */
export function createAccountSemaphore({ name, what, each, all, waiting, hint }: Costly): AccountSemaphore {
	const busy = () => {
		const message = `${waiting} ${what} of this account, or its machines' part of them, are already waiting (${name}): try again in a second`;
		return new AppError("rate_limited", message, { headers: { "retry-after": "1" } });
	};
	const semaphore = createSemaphore(all ?? Number.POSITIVE_INFINITY, { each, waiting, busy });
	return {
		run: (task, caller) => semaphore.run(task, { keys: keysOf(caller), left: clientGone }),
		limit: { name, max: waiting, used: semaphore.fullest, refused: semaphore.refused, hint },
	};
}

/** Dependencies of rules that ask the store what may take it long. */
export interface QuestionNeeds {
	long_questions: Pick<AccountSemaphore, "run">;
}

/** Makes the turns of questions that may read many rows. One thread answers them, so two are begun: one in work, and the next. Design: §13 */
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
 * Makes the turns of verifying the log, which may take minutes: in turns of their own, because nobody's questions should wait for that. Design: §13
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
