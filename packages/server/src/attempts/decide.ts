import { type Backoff, MAX_WAIT_MS } from "./model.ts";

/** Decides how many milliseconds a name waits after a failure. @param count its failures, this one included */
export function waitAfter(count: number, backoff: Backoff | undefined): number {
	if (backoff === undefined || count < backoff.free) return 0;
	const doubled = Math.floor((count - backoff.free) / backoff.doubles_every);
	return Math.min(backoff.first_ms * 2 ** doubled, MAX_WAIT_MS);
}
