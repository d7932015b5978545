import assert from "node:assert/strict";
import { test } from "node:test";
import { faultSettings } from "../../faults/settings.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";
import { assertAccounted, assertRevocable } from "./oracle.ts";
import { type Given, walk } from "./walk.ts";

const { options, world, steering } = useKeyValueWorld("steered", { aclfile: true });
const { seed, walk_seconds } = faultSettings();
const FIXED_SEED = 20_261_121;
/** Low enough that the walk reaches the limit. */
const MAX_CONNECTIONS = 60;

const given: Given[] = [];

for (const chance of [FIXED_SEED, seed]) {
	test(`whatever fails, every credential is accounted for: seed ${chance}`, options, async (t) => {
		await world.set({ max_connections: MAX_CONNECTIONS });
		const walked = await walk(world, chance, walk_seconds / 2);
		t.diagnostic(`seed ${chance}: ${[...walked.counts].map(([what, count]) => `${count} ${what}`).join(", ")}`);
		given.push(...walked.given);
		assert.ok(walked.given.length > 0, "some were given");
		await assertAccounted(world, steering, given);
		await assertRevocable(world);
	});
}
