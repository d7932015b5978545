import assert from "node:assert/strict";
import { test } from "node:test";
import { instrumentImports, openCoverage } from "../../scripts/fuzz/coverage.ts";
import { loadTarget, TARGETS } from "./targets.ts";

instrumentImports();

for (const { name } of TARGETS) {
	test(`${name}: each of its sources guides the search`, async () => {
		const { sources } = await loadTarget(name);
		assert.ok(sources.length > 0);
		for (const source of sources) assert.ok(openCoverage([source]).found().counters > 0, source);
	});
}

test("a source that is not loaded ends the search, whatever else is", async () => {
	const { sources } = await loadTarget("json");
	assert.throws(() => openCoverage([...sources, "packages/protocol/src/missing.ts"]), /missing\.ts/);
});
