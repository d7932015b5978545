/*
 * The meaning of the engine's errors. They name the step, and the API server's status: `creating service account: POST /api/…:
 * status 403: …`. Spec: ENGINES › Errors
 */

/**
 * Errors of `generate` after which nothing exists: the very first step was refused. A name that is taken belongs to somebody else: its
 * account must not be deleted. Text after the first step's own status comes from others, or from the clean-up.
 */
const FIRST_STEP_REFUSED = /^creating service account: \S+ \S+: (?:status 4\d\d|no connection)\b/;

/** Errors of `generate` without an answer from the API server. */
const UNANSWERED =
	/^(?:creating service account|creating role binding|requesting token): \S+ \S+: no (?:connection|answer)\b/;

/** Tells whether an error of `generate` means that the very first step was refused. */
export function isFirstStepRefused(message: string): boolean {
	return FIRST_STEP_REFUSED.test(message);
}

/** Tells whether an error of `generate` means that the API server gave no answer. */
export function isUnanswered(message: string): boolean {
	return UNANSWERED.test(message);
}
