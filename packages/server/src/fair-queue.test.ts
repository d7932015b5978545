import assert from "node:assert/strict";
import { test } from "node:test";
import { FairQueue } from "./fair-queue.ts";

/** A queue of texts such as `site/source/1`: keys, then a number. */
function filled(...items: string[]) {
	const queue = new FairQueue<string>();
	for (const item of items) queue.add(item, ...keysOf(item));
	return queue;
}

function keysOf(item: string): string[] {
	return item.split("/").slice(0, -1);
}

function drain(queue: FairQueue<string>, isReady?: (item: string) => boolean): string {
	const taken: string[] = [];
	for (let item = queue.take(isReady); item !== undefined; item = queue.take(isReady)) taken.push(item);
	return taken.join(" ");
}

test("items without a key go in order of arrival", () => {
	assert.equal(drain(filled("1", "2", "3")), "1 2 3");
});

test("keys take turns, and items of one key go in order of arrival", () => {
	assert.equal(drain(filled("a/1", "a/2", "a/3", "b/1", "b/2", "c/1")), "a/1 b/1 c/1 a/2 b/2 a/3");
});

test("a key that returns goes to the end of the queue", () => {
	const queue = filled("a/1", "b/1", "b/2");
	assert.equal(queue.take(), "a/1");
	queue.add("a/2", "a");
	assert.equal(drain(queue), "b/1 a/2 b/2");
});

test("outer keys take turns whatever their number of inner keys, which take turns within", () => {
	const queue = filled("x/a/1", "x/a/2", "x/b/1", "x/c/1", "y/d/1", "y/d/2");
	assert.equal(drain(queue), "x/a/1 y/d/1 x/b/1 y/d/2 x/c/1 x/a/2");
});

test("an item that is not ready keeps its turn, and others go first", () => {
	const queue = filled("a/1", "b/1", "b/2", "c/1");
	assert.equal(
		drain(queue, (item) => !item.startsWith("a")),
		"b/1 c/1 b/2",
	);
	assert.equal(drain(queue), "a/1");
});

test("a removed item never comes, and an empty key takes no turn", () => {
	const queue = filled("a/1", "a/2", "b/1");
	assert.deepEqual(
		[queue.remove("a/1", "a"), queue.remove("a/1", "a"), queue.remove("z/1", "z")],
		[true, false, false],
	);
	assert.equal(queue.remove("b/1", "b"), true);
	assert.deepEqual([queue.size, queue.count("a"), queue.count("b"), queue.fullest()], [1, 1, 0, 1]);
	assert.equal(drain(queue), "a/2");
	assert.deepEqual([queue.size, queue.count("a"), queue.fullest()], [0, 0, 0]);
});

test("counts cover a key, an inner key, and the fullest key, outer or inner", () => {
	const queue = filled("x/a/1", "x/a/2", "x/b/1", "y/d/1");
	const counts = [queue.size, queue.count("x"), queue.count("x", "a"), queue.count("y", "a"), queue.count("z", "a")];
	assert.deepEqual([...counts, queue.fullestKey(), queue.fullest()], [4, 3, 2, 0, 0, 3, 2]);
	assert.deepEqual([...queue], ["x/a/1", "x/a/2", "x/b/1", "y/d/1"]);
});
