import type { Held } from "../../test/siege/readings.ts";

/** Figures of an ordinary client: medians over windows of a few seconds, in milliseconds. */
export interface Figures {
	readonly kept_p50_ms: number;
	readonly kept_p99_ms: number;
	/** Requests on a new connection each. */
	readonly fresh_p50_ms: number;
	readonly fresh_p99_ms: number;
	/** Requests without a good answer, in all windows. */
	readonly failures: number;
	/** Windows, and those in which others took too much of the machine: they count only when there are no others. */
	readonly windows: number;
	readonly dropped: number;
}

/** Things that a server holds and did not hold before the attack. */
export type Leftover = Held;

/** One run of one attack. Figures that were not reached, because the server had to be killed, are null. */
export interface Run {
	/** ISO 8601 UTC. */
	readonly at: string;
	/** While the same attackers work on a bare server. */
	readonly idle: Figures;
	readonly attacked: Figures;
	readonly memory_idle_mb: number;
	readonly memory_peak_mb: number;
	readonly longest_turn_ms: number | null;
	/** While the attackers still hold what they have, but do nothing new for a while; and some time after they have left. */
	readonly held: Leftover | null;
	readonly left: Leftover | null;
	/** The server's end by SIGTERM during another such attack. */
	readonly end: { readonly ms: number; readonly code: number | null } | null;
	/** True when it took more memory than allowed. */
	readonly was_killed: boolean;
	/** Events on the attackers' side. */
	readonly counts: readonly Readonly<Record<string, number>>[];
}

/** Tells whether others took too much of the machine all the time: such a run counts only when there is no other. */
export function isNoisy({ idle, attacked }: Run): boolean {
	return [idle, attacked].some(({ windows, dropped }) => dropped === windows);
}
