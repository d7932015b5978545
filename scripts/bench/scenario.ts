import type { Comparison } from "./rounds.ts";

/** One measured figure. */
export interface Finding {
	readonly measure: string;
	readonly value: number;
	readonly unit: "ratio" | "µs" | "ms" | "KB" | "MB" | "per second" | "s";
	/** Its target; a figure without one is only for reading. */
	readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

/** Result of a scenario. */
export interface Result {
	readonly findings: readonly Finding[];
	/** Present when two servers were loaded in turn; `base` names the one that ours was compared with. */
	readonly comparison?: Comparison & { readonly baseName: string };
}

/** One measurement of `npm run bench`. */
export interface Scenario {
	/** Its name for `--only`. */
	readonly name: string;
	/** Its title in the report. */
	readonly title: string;
	run(): Promise<Result>;
}

/** Tells whether a finding reaches its target; undefined when it has none. */
export function isMet({ value, target }: Finding): boolean | undefined {
	if (target === undefined) return undefined;
	return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}
