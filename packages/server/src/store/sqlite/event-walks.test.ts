import assert from "node:assert/strict";
import { test } from "node:test";
import { shared, type Walk } from "./event-walks.ts";

/** Makes a walk through these numbers, and counts those that it yields. */
function walkOf(numbers: Iterable<number>): Walk & { yielded: number; open: number } {
	const sorted = [...new Set(numbers)].toSorted((a, b) => b - a);
	const walk = Object.assign(
		function* (below: number) {
			walk.open++;
			try {
				for (const seq of sorted) {
					if (seq >= below) continue;
					walk.yielded++;
					yield seq;
				}
			} finally {
				walk.open--;
			}
		},
		{ yielded: 0, open: 0 },
	);
	return walk;
}

test("two walks are intersected to the numbers of both, newest first", () => {
	const every = (step: number, from = 0) => Array.from({ length: 900 }, (_, at) => from + at * step);
	const SETS = [[], [7], every(1), every(2), every(3), [...every(1, 5000), ...every(7)], every(1, 600)];
	for (const one of SETS)
		for (const other of SETS)
			for (const below of [0, 8, 1000, 10_000]) {
				const down = (numbers: number[]) =>
					[...new Set(numbers)].filter((seq) => seq < below).toSorted((a, b) => b - a);
				const both = new Set(other);
				assert.deepEqual([...shared(walkOf(one), walkOf(other))(below)], down(one.filter((seq) => both.has(seq))));
			}
});

test("a walk skips what the other lacks, and ends with those that it is made of", () => {
	const rare = walkOf([10, 500_000]);
	const many = walkOf(Array.from({ length: 600_000 }, (_, seq) => seq));
	const numbers = shared(rare, many)(600_000);
	assert.equal(numbers.next().value, 500_000);
	assert.equal(numbers.next().value, 10);
	assert.ok(many.yielded < 2000, `${many.yielded} numbers`);
	numbers.return(undefined);
	assert.deepEqual([rare.open, many.open], [0, 0]);
});
