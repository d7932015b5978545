import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openReaper } from "./testing.ts";

test("of five targets with 10,000 leases due at once, one that hangs holds up none of the others", async (t) => {
	const { add, at, reaper, system } = await openReaper(t, { rest_ms: 50 });
	const names = ["a", "b", "c", "d", "hole"];
	for (let batch = 0; batch < 20; batch++) {
		await Promise.all(Array.from({ length: 500 }, (_, index) => add("active", { target: names[index % 5] ?? "" })));
	}
	const hole = at("hole");
	hole.mood = "away";
	hole.before = () => setTimeout(200);
	for (const name of names.slice(0, 4)) at(name).before = () => setTimeout(1);
	const began = performance.now();
	reaper.start();
	const left = () => names.slice(0, 4).reduce((sum, name) => sum + at(name).names.size, 0);
	while (left() > 0 && performance.now() - began < 60_000) await setTimeout(20);
	const took_ms = performance.now() - began;
	assert.equal(left(), 0);
	t.diagnostic(`8,000 leases in ${Math.round(took_ms)} ms`);
	assert.equal(hole.names.size, 2000);
	assert.ok(hole.removals <= 5 + 8, `${hole.removals} removals at the target that hangs`);
	assert.equal(reaper.targets().find(({ target }) => target === "hole")?.state, "away");

	hole.mood = "well";
	hole.before = async () => undefined;
	const back = performance.now();
	while (hole.names.size > 0 && performance.now() - back < 60_000) {
		system.advance(100);
		await setTimeout(20);
	}
	assert.equal(hole.names.size, 0);
});
