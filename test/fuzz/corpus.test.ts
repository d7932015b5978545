import assert from "node:assert/strict";
import { test } from "node:test";
import { readCorpus } from "./corpus.ts";
import { findCostly } from "./cost.ts";
import { loadTarget, TARGETS } from "./targets.ts";

// `npm run fuzz` found these inputs, and can find more: see CONTRIBUTING.md.
for (const { name } of TARGETS) {
	test(`${name}: what it promises holds for every kept input`, async () => {
		const target = await loadTarget(name);
		const inputs = [...target.seeds.map((seed) => Buffer.from(seed)), ...readCorpus(name)];
		for (const input of inputs) await target.check(input);
	});

	test(`${name}: no kept input takes long, repeated to the largest that gets so far`, async () => {
		const costly = await findCostly(await loadTarget(name), readCorpus(name));
		assert.deepEqual(costly, []);
	});
}
