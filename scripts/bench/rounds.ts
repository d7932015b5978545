import { type Measurement, type Run, runWrk } from "./wrk.ts";

/** Two servers measured in turn in one run. */
export interface Comparison {
	readonly base: Figures;
	readonly ours: Figures;
	/** Medians of the rounds' own ratios, ours to the base: disturbances of the machine affect both. */
	readonly ratios: Figures;
}

/** Medians over the rounds. */
export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>;

const FIGURES = ["perSecond", "p50Ms", "p99Ms", "mainUs", "allUs"] as const;
const ROUNDS = 3;
const WARM_UP_S = 3;
const ROUND_S = 4;

/**
 * Loads base and ours in turn, after a warm-up of each, in short rounds: the machine may be shared, and its speed changes.
 * @throws Error when a request was refused
 */
export async function compare(
	base: Omit<Run, "seconds">,
	ours: Omit<Run, "seconds">,
	warmUpS = WARM_UP_S,
): Promise<Comparison> {
	for (const run of [base, ours]) await measure({ ...run, seconds: warmUpS });
	const rounds: { base: Measurement; ours: Measurement }[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		rounds.push({
			base: await measure({ ...base, seconds: ROUND_S }),
			ours: await measure({ ...ours, seconds: ROUND_S }),
		});
	}
	return {
		base: figures((figure) => rounds.map((round) => round.base[figure])),
		ours: figures((figure) => rounds.map((round) => round.ours[figure])),
		ratios: figures((figure) => rounds.map((round) => round.ours[figure] / round.base[figure])),
	};
}

async function measure(run: Run): Promise<Measurement> {
	const measured = await runWrk(run);
	if (measured.refused > 0) throw new Error(`${measured.refused} of ${measured.requests} requests were refused`);
	return measured;
}

function figures(valuesOf: (figure: keyof Figures) => number[]): Figures {
	const entries = FIGURES.map((figure) => [figure, median(valuesOf(figure))]);
	return Object.fromEntries(entries) as Figures;
}

/** The middle value; of an even number of values the lower of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
	return quantile(values, 0.5);
}

/** The value that this share of the values does not exceed. NaN without values. */
export function quantile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
