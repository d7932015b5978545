import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createEventLoopMeter } from "./event-loop-meter.ts";

/** Blocks the event loop. */
function block(ms: number): void {
	const until = performance.now() + ms;
	while (performance.now() < until);
}

test("time in which nobody was connected is no turn", async () => {
	const meter = createEventLoopMeter();
	meter.start();
	await wait(30);
	meter.stop();
	await wait(1500);
	meter.start();
	await wait(30);
	meter.stop();
	assert.ok(meter.longest() < 1, "the pause counts");
});

test("a long turn is reported once, also after a pause", async () => {
	const meter = createEventLoopMeter();
	meter.start();
	await wait(30);
	block(200);
	await wait(30);
	meter.stop();
	meter.start();
	await wait(30);
	assert.ok(meter.longest() >= 0.18);
	meter.stop();
	assert.ok(meter.longest() < 0.18);
});
