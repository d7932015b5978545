import { test } from "node:test";
import fc from "fast-check";
import { bytesOfToken, type Target } from "./target.ts";
import { loadTarget, TARGETS } from "./targets.ts";

/** Fixed, so that every run tries the same inputs: `npm run fuzz` finds new ones. */
const RUNS = { seed: 16, numRuns: 1000 };

/** Milliseconds for the inputs of one target: those of a slow one are fewer. */
const MAX_MS = 500;

/** Inputs made of a target's tokens and of bytes, and its seeds with parts that such pieces replace. */
function inputsOf({ tokens, seeds, max_bytes }: Target): fc.Arbitrary<Buffer> {
	const bytes = fc.uint8Array({ maxLength: 8 }).map((array) => Buffer.from(array));
	const piece = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...tokens.map(bytesOfToken)) }, bytes);
	const edit = fc.tuple(fc.nat(), fc.nat(16), piece);
	const mutated = fc
		.tuple(fc.constantFrom(...seeds.map((seed) => Buffer.from(seed))), fc.array(edit, { maxLength: 4 }))
		.map(([seed, edits]) => edits.reduce(replacePart, seed));
	const assembled = fc.array(piece, { maxLength: 24 }).map((pieces) => Buffer.concat(pieces));
	return fc.oneof(mutated, assembled).map((input) => input.subarray(0, max_bytes));
}

function replacePart(input: Buffer, [at, length, piece]: [at: number, length: number, piece: Buffer]): Buffer {
	const start = at % (input.length + 1);
	return Buffer.concat([input.subarray(0, start), piece, input.subarray(start + length)]);
}

for (const { name } of TARGETS) {
	test(`${name}: what it promises holds for assembled and mutated inputs`, async () => {
		const target = await loadTarget(name);
		const end = performance.now() + MAX_MS;
		const property = fc.asyncProperty(inputsOf(target), async (input) => {
			if (performance.now() < end) await target.check(input);
		});
		await fc.assert(property, RUNS);
	});
}
