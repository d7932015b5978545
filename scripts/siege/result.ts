import type { Held } from "../../test/siege/readings.ts";

/** What an ordinary client got: medians over windows of a few seconds, in milliseconds. */
export interface Figures {
	readonly kept_p50_ms: number;
	readonly kept_p99_ms: number;
	/** Of requests on a new connection each. */
	readonly fresh_p50_ms: number;
	readonly fresh_p99_ms: number;
	/** Requests without a good answer, in all windows. */
	readonly failures: number;
	/** Windows, and those in which others took too much of the machine: they do not count unless there is no other. */
	readonly windows: number;
	readonly dropped: number;
}

/** What a server holds that it did not hold before the attack. */
export type Leftover = Held;

/** One run of one attack. What was not reached, because the server had to be killed, is null. */
export interface Run {
	/** ISO 8601 UTC. */
	readonly at: string;
	/** While the same attackers work on a bare server. */
	readonly idle: Figures;
	readonly attacked: Figures;
	readonly memory_idle_mb: number;
	readonly memory_peak_mb: number;
	readonly longest_turn_ms: number | null;
	/** While the attackers still hold what they have, but do nothing new for a while; and when they have been gone for a while. */
	readonly held: Leftover | null;
	readonly left: Leftover | null;
	/** How SIGTERM ended it during another such attack. */
	readonly end: { readonly ms: number; readonly code: number | null } | null;
	/** Whether it took more memory than anything may. */
	readonly was_killed: boolean;
	/** What happened to the attackers. */
	readonly counts: readonly Readonly<Record<string, number>>[];
}

/** Whether others took too much of the machine all the time: such a run only counts where there is no other. */
export function isNoisy({ idle, attacked }: Run): boolean {
	return [idle, attacked].some(({ windows, dropped }) => dropped === windows);
}
