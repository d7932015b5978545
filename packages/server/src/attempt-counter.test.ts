import assert from "node:assert/strict";
import { test } from "node:test";
import { AttemptCounter } from "./attempt-counter.ts";

function setUp(most = 3) {
	let now = 1000;
	const counter = new AttemptCounter({ window_ms: 100, most }, () => now);
	return { counter, pass: (ms: number) => (now += ms) };
}

test("a name is counted until its window ends, and then from one again", () => {
	const { counter, pass } = setUp();
	assert.deepEqual([counter.add("a"), counter.add("a"), counter.add("b")], [1, 2, 1]);
	pass(99);
	assert.deepEqual(counter.get("a"), { count: 2, left_ms: 1 });
	assert.equal(counter.add("a"), 3);
	assert.equal(counter.fullest(), 3);
	pass(1);
	assert.equal(counter.fullest(), 0);
	assert.deepEqual(counter.get("a"), { count: 0, left_ms: 0 });
	assert.equal(counter.add("a"), 1);
});

test("a name waits for the whole time it was given, whether or not its window has ended", () => {
	const { counter, pass } = setUp();
	counter.add("a");
	counter.block("a", 250);
	pass(200);
	assert.equal(counter.waitOf("a"), 50);
	counter.add("a");
	assert.equal(counter.waitOf("a"), 50, "a new window does not end it");
	pass(50);
	assert.equal(counter.waitOf("a"), 0);
	assert.equal(counter.waitOf("nobody"), 0);
});

test("of too many names the oldest that does not wait is forgotten", () => {
	const { counter } = setUp();
	for (const name of ["a", "b", "c"]) counter.add(name);
	counter.block("a", 250);
	counter.add("d");
	assert.deepEqual(
		["a", "b", "c", "d"].map((name) => counter.get(name).count),
		[1, 0, 1, 1],
	);
	assert.equal(counter.waitOf("a"), 250);
});

test("when every name waits none is forgotten, and all others wait, too", () => {
	const { counter, pass } = setUp();
	for (const name of ["a", "b", "c"]) {
		counter.add(name);
		counter.block(name, 2000);
	}
	assert.equal(counter.waitOf("flood"), 0);
	for (let count = 0; count < 1000; count++) counter.add(`flood ${count}`);
	for (const name of ["a", "b", "c"]) assert.equal(counter.waitOf(name), 2000);
	assert.equal(counter.waitOf("flood"), 1000);
	pass(2000);
	assert.equal(counter.waitOf("flood"), 0);
	assert.equal(counter.add("flood"), 1);
	assert.equal(counter.get("flood").count, 1);
});
