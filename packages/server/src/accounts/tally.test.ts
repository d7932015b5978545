import assert from "node:assert/strict";
import { test } from "node:test";
import { Tally } from "./tally.ts";

function setUp(most = 3) {
	let now = 1000;
	const tally = new Tally({ window_ms: 100, most }, () => now);
	return { tally, pass: (ms: number) => (now += ms) };
}

test("a name is counted until its window ends, and then from one again", () => {
	const { tally, pass } = setUp();
	assert.deepEqual([tally.add("a"), tally.add("a"), tally.add("b")], [1, 2, 1]);
	pass(99);
	assert.deepEqual(tally.get("a"), { count: 2, left_ms: 1 });
	assert.equal(tally.add("a"), 3);
	assert.equal(tally.fullest(), 3);
	pass(1);
	assert.equal(tally.fullest(), 0);
	assert.deepEqual(tally.get("a"), { count: 0, left_ms: 0 });
	assert.equal(tally.add("a"), 1);
});

test("a name waits for the whole time it was given, whether or not its window has ended", () => {
	const { tally, pass } = setUp();
	tally.add("a");
	tally.block("a", 250);
	pass(200);
	assert.equal(tally.waitOf("a"), 50);
	tally.add("a");
	assert.equal(tally.waitOf("a"), 50, "a new window does not end it");
	pass(50);
	assert.equal(tally.waitOf("a"), 0);
	assert.equal(tally.waitOf("nobody"), 0);
});

test("of too many names the oldest that does not wait is forgotten", () => {
	const { tally } = setUp();
	for (const name of ["a", "b", "c"]) tally.add(name);
	tally.block("a", 250);
	tally.add("d");
	assert.deepEqual(
		["a", "b", "c", "d"].map((name) => tally.get(name).count),
		[1, 0, 1, 1],
	);
	assert.equal(tally.waitOf("a"), 250);
});

test("when every name waits none is forgotten, and all others wait, too", () => {
	const { tally, pass } = setUp();
	for (const name of ["a", "b", "c"]) {
		tally.add(name);
		tally.block(name, 2000);
	}
	assert.equal(tally.waitOf("flood"), 0);
	for (let count = 0; count < 1000; count++) tally.add(`flood ${count}`);
	for (const name of ["a", "b", "c"]) assert.equal(tally.waitOf(name), 2000);
	assert.equal(tally.waitOf("flood"), 1000);
	pass(2000);
	assert.equal(tally.waitOf("flood"), 0);
	assert.equal(tally.add("flood"), 1);
	assert.equal(tally.get("flood").count, 1);
});
