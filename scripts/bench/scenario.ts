import type { Comparison } from "./rounds.ts";

/** Something measured. */
export interface Finding {
	readonly measure: string;
	readonly value: number;
	readonly unit: "ratio" | "µs" | "ms" | "MB" | "per second" | "s";
	/** What it should be; a figure without a target is there to be read. */
	readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

/** What a scenario measured. */
export interface Result {
	readonly findings: readonly Finding[];
	/** Present when two servers were loaded in turn; `base` names the one that ours was compared with. */
	readonly comparison?: Comparison & { readonly baseName: string };
}

/** Something that `npm run bench` measures. */
export interface Scenario {
	/** What `--only` takes. */
	readonly name: string;
	/** What the report says. */
	readonly title: string;
	run(): Promise<Result>;
}

/** Whether a finding reaches its target; undefined when it has none. */
export function isMet({ value, target }: Finding): boolean | undefined {
	if (target === undefined) return undefined;
	return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}
