import { brief, type Port } from "../operation.ts";

const MINUTE_MS = 60_000;

/** Milliseconds from the first failure of a name until it is forgotten, by kind. Design: §6 */
export const ATTEMPT_WINDOWS_MS = {
	/** Failed logins of strangers, and of owners where their account is known. */
	strangers: 15 * MINUTE_MS,
	owners: 15 * MINUTE_MS,
	/** Wrong second-factor codes. */
	codes: 24 * 60 * MINUTE_MS,
	/** Refused logins of browsers and programs, and their causes. */
	refusals: MINUTE_MS,
	causes: 15 * MINUTE_MS,
} as const;

export type AttemptKind = keyof typeof ATTEMPT_WINDOWS_MS;

/** Names of one kind that are counted at the same time, 150 bytes each: more than can fail in a window. */
export const MAX_ATTEMPT_NAMES = 131_072;

/** Longest wait after failures, in milliseconds. */
export const MAX_WAIT_MS = 15 * MINUTE_MS;

/** Wait of a name after too many failures. */
export interface Backoff {
	/** Failures of which the last one makes the name wait. */
	free: number;
	/** The first wait. It doubles with every so many further failures; with Infinity it stays as it is. */
	first_ms: number;
	doubles_every: number;
}

/** Failures of a name in its window. */
export interface Attempts {
	count: number;
	/** Milliseconds left of the window. */
	left_ms: number;
	/** Milliseconds that the name has to wait. */
	wait_ms: number;
}

/** A failure to count. */
export interface Failure {
	name: string;
	backoff?: Backoff;
}

/** Operations of the store on failed attempts. */
export const attemptOperations = {
	/** Counts one more for each name. @returns the counts in the windows, these ones included */
	add: brief<(kind: AttemptKind, failures: readonly Failure[]) => number[]>(),
	/** Returns the failures of each name. */
	get: brief<(kind: AttemptKind, names: readonly string[]) => Attempts[]>(),
	/** Returns the highest count of a window that has not ended. @param prefix of the names that are meant */
	fullest: brief<(kind: AttemptKind, prefix: string) => number>(),
};

/** The store's part for failed attempts. */
export type AttemptStore = Port<typeof attemptOperations>;
