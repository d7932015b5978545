import assert from "node:assert/strict";
import { test } from "node:test";
import { readCorpus } from "./corpus.ts";
import { findCostly } from "./cost.ts";
import type { Target } from "./target.ts";
import { loadTarget, TARGETS } from "./targets.ts";

const inputsOf = (name: string, { seeds }: Target) => [...seeds.map((seed) => Buffer.from(seed)), ...readCorpus(name)];

// `npm run fuzz` found these inputs, and can find more: see CONTRIBUTING.md.
for (const { name } of TARGETS) {
	test(`${name}: what it promises holds for every kept input`, async () => {
		const target = await loadTarget(name);
		for (const input of inputsOf(name, target)) await target.check(input);
	});

	test(`${name}: no kept input takes long, repeated to the largest that gets so far`, async () => {
		const target = await loadTarget(name);
		assert.deepEqual(await findCostly(target, inputsOf(name, target)), []);
	});
}
