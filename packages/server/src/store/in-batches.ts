import type { Awaitable } from "../operation.ts";

/** Repeats a small step until nothing is left, so that other writes get their turn in between. */
export function runInBatches(
	step: (...args: unknown[]) => Awaitable<unknown>,
): (...args: unknown[]) => Promise<number> {
	return async (...args) => {
		let total = 0;
		for (let count = -1; count !== 0; total += count) count = Number(await step(...args));
		return total;
	};
}
