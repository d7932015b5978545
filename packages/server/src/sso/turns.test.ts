import assert from "node:assert/strict";
import { test } from "node:test";
import { unavailableAs } from "./ldap/testing.ts";
import { createTurns } from "./turns.ts";

/** Tasks that end on command. */
function tasks(limits: Parameters<typeof createTurns>[0]) {
	const turn = createTurns(limits);
	const started: string[] = [];
	const begin = (key: string, name: string, limit_ms = 60_000) => {
		const end = Promise.withResolvers<void>();
		const done = turn(key, limit_ms, () => {
			started.push(name);
			return end.promise;
		});
		return { done, end: () => end.resolve() };
	};
	return { begin, started };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("one key waits for its own tasks, and others pass by", async () => {
	const { begin, started } = tasks({ all: 3, each: 1, waiting: 2 });
	const [first, second, other] = [begin("a", "a1"), begin("a", "a2"), begin("b", "b1")];
	await settle();
	assert.deepEqual(started, ["a1", "b1"]);
	first.end();
	await first.done;
	await settle();
	assert.deepEqual(started, ["a1", "b1", "a2"]);
	for (const task of [second, other]) task.end();
	await Promise.all([second.done, other.done]);
});

test("more than may run and wait are refused, and one that fails gives its place on", async () => {
	const { begin, started } = tasks({ all: 1, each: 1, waiting: 1 });
	const [first, second] = [begin("a", "a1"), begin("a", "a2")];
	await assert.rejects(begin("a", "a3").done, unavailableAs(/^too many logins wait/));
	const other = begin("b", "b1");
	first.end();
	second.end();
	other.end();
	await Promise.all([first.done, second.done, other.done]);
	assert.deepEqual(started, ["a1", "a2", "b1"]);
	const turn = createTurns({ all: 1, each: 1, waiting: 1 });
	await assert.rejects(
		turn("a", 1000, () => Promise.reject(new Error("broken"))),
		/broken/,
	);
	assert.equal(await turn("a", 1000, async () => 1), 1);
});

test("a turn that does not come in time is given up, and does not come later", async () => {
	const { begin, started } = tasks({ all: 1, each: 1, waiting: 5 });
	const first = begin("a", "a1");
	await assert.rejects(begin("a", "a2", 20).done, unavailableAs(/^too many logins wait/));
	first.end();
	await first.done;
	await settle();
	assert.deepEqual(started, ["a1"]);
});
