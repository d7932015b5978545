import assert from "node:assert/strict";
import { test } from "node:test";
import { inputsOf } from "./corpus.ts";
import { findCostly } from "./cost.ts";
import { loadTarget, TARGETS } from "./targets.ts";

/** Inputs of each target that are measured here: costs.long.test.ts measures more. */
const FEW = 6;

// `npm run fuzz` found these inputs, and can find more: see CONTRIBUTING.md.
for (const { name } of TARGETS) {
	test(`${name}: what it promises holds for every kept input`, async () => {
		const target = await loadTarget(name);
		for (const input of inputsOf(name, target)) await target.check(input);
	});

	test(`${name}: the largest kept inputs do not take long, repeated to the largest that gets so far`, async () => {
		const target = await loadTarget(name);
		assert.deepEqual(await findCostly(target, inputsOf(name, target), FEW), []);
	});
}
