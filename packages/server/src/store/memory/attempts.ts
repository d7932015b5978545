import { AttemptCounter } from "../../attempt-counter.ts";
import { waitAfter } from "../../attempts/decide.ts";
import { ATTEMPT_WINDOWS_MS, type AttemptKind, MAX_ATTEMPT_NAMES } from "../../attempts/model.ts";
import type { Briefs } from "../store.ts";

/** Counts failed attempts. @param now monotonic milliseconds */
export function attemptsInMemory(now: () => number = () => performance.now()): Briefs["attempts"] {
	const counters = new Map(
		Object.entries(ATTEMPT_WINDOWS_MS).map(([kind, window_ms]) => [
			kind,
			new AttemptCounter({ window_ms, most: MAX_ATTEMPT_NAMES }, now),
		]),
	);
	const counterOf = (kind: AttemptKind) => counters.get(kind) as AttemptCounter;
	return {
		add: (kind, failures) =>
			failures.map(({ name, backoff }) => {
				const count = counterOf(kind).add(name);
				const wait_ms = waitAfter(count, backoff);
				if (wait_ms > 0) counterOf(kind).block(name, wait_ms);
				return count;
			}),
		get: (kind, names) =>
			names.map((name) => ({ ...counterOf(kind).get(name), wait_ms: counterOf(kind).waitOf(name) })),
		fullest: (kind, prefix) => counterOf(kind).fullest(prefix),
	};
}
