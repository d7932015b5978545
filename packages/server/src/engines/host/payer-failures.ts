import { LRUCache } from "lru-cache";
import type { Limit } from "../../limits.ts";

/** Name of the limit, and failures of one engine over requests of one account within the window after which its requests are refused. */
const LIMIT = "engine_failures_per_account";
export const MAX_FAILURES_OF_PAYER = 15;

/** Accounts whose failures with an engine are remembered. */
const MAX_PAYERS = 1024;

/**
 * The failures that an account causes with an engine, in all of its realms and with every configuration: realms are free to make. They are fewer than
 * those after which everybody's starts are paced, and more than one realm can cause before it is refused.
 */
export interface PayerFailures {
	/** Returns the reason for refusing an account's call now. */
	refusal(engine: string, payer: string): string | undefined;
	/** @returns true when the account's calls are refused from now on */
	failed(engine: string, payer: string): boolean;
	/** The limit, for display. */
	limit: Limit;
}

/** Makes the record of failures by account. @param window_ms milliseconds for which a failure counts. Design: §13 */
export function createPayerFailures(window_ms: number): PayerFailures {
	const known = new LRUCache<string, number[]>({ max: MAX_PAYERS });
	const nameOf = (engine: string, payer: string) => `${engine} ${payer}`;
	let refused = 0;

	/** Lists the times that still count, and forgets who has none. */
	function recent(name: string): number[] {
		const now = performance.now();
		const times = (known.peek(name) ?? []).filter((at) => now - at < window_ms);
		if (times.length === 0) known.delete(name);
		return times;
	}

	return {
		refusal(engine, payer) {
			if (recent(nameOf(engine, payer)).length < MAX_FAILURES_OF_PAYER) return undefined;
			refused++;
			return `it failed too often over requests of this account and is suspended for it for a while (${LIMIT})`;
		},
		failed(engine, payer) {
			const name = nameOf(engine, payer);
			const times = recent(name);
			known.set(name, [...times, performance.now()].slice(-MAX_FAILURES_OF_PAYER));
			return times.length === MAX_FAILURES_OF_PAYER - 1;
		},
		limit: {
			name: LIMIT,
			max: MAX_FAILURES_OF_PAYER,
			used: () => Math.max(0, ...[...known.keys()].map((name) => recent(name).length)),
			refused: () => refused,
			hint: "requests of one account make an engine fail: the server's log has the reason in engine.failed, and names the account in engine.breaker.open",
		},
	};
}
