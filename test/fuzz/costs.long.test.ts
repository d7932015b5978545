import assert from "node:assert/strict";
import { test } from "node:test";
import { inputsOf } from "./corpus.ts";
import { findCostly } from "./cost.ts";
import { loadTarget, TARGETS } from "./targets.ts";

for (const { name } of TARGETS) {
	test(`${name}: no kept input takes long, repeated to the largest that gets so far`, async () => {
		const target = await loadTarget(name);
		assert.deepEqual(await findCostly(target, inputsOf(name, target)), []);
	});
}
