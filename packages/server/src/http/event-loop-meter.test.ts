import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createEventLoopMeter } from "./event-loop-meter.ts";

/** Milliseconds in which the meter, which looks every 5 ms, takes a sample. */
const SAMPLED_MS = 30;

/** Milliseconds without a measurement: more than any turn that the test allows. */
const PAUSE_MS = 1500;

/** Blocks the event loop. */
function block(ms: number): void {
	const until = performance.now() + ms;
	while (performance.now() < until);
}

test("time in which nobody was connected is no turn", async () => {
	const meter = createEventLoopMeter();
	meter.start();
	await wait(SAMPLED_MS);
	meter.stop();
	await wait(PAUSE_MS);
	meter.start();
	await wait(SAMPLED_MS);
	meter.stop();
	assert.ok(meter.longest() < 1, "the pause counts");
});

test("a long turn is reported once, also after a pause", async () => {
	const meter = createEventLoopMeter();
	meter.start();
	await wait(SAMPLED_MS);
	block(200);
	await wait(SAMPLED_MS);
	meter.stop();
	meter.start();
	await wait(SAMPLED_MS);
	assert.ok(meter.longest() >= 0.18);
	meter.stop();
	assert.ok(meter.longest() < 0.18);
});
