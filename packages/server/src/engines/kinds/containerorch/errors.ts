/*
 * What the engine's errors mean. They name the step, and the status that the API server answered: `creating service account: POST /api/…:
 * status 403: …`. Spec: ENGINES › Errors
 */

/**
 * Errors of `generate` after which nothing exists: the very first step was refused. A name that is taken is somebody else's, and must not be
 * deleted. What stands behind the first step's own status was said by others, or is of the clean-up.
 */
const FIRST_STEP_REFUSED = /^creating service account: \S+ \S+: (?:status 4\d\d|no connection)\b/;

/** Errors of `generate` whose API server gave no answer. */
const UNANSWERED =
	/^(?:creating service account|creating role binding|requesting token): \S+ \S+: no (?:connection|answer)\b/;

/** Whether an error of `generate` says that the very first step was refused. */
export function isFirstStepRefused(message: string): boolean {
	return FIRST_STEP_REFUSED.test(message);
}

/** Whether an error of `generate` says that the API server gave no answer. */
export function isUnanswered(message: string): boolean {
	return UNANSWERED.test(message);
}
