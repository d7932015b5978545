import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { passTime } from "../testing/monotonic.ts";
import { stays } from "../testing/stays.ts";
import { createBatches } from "./batches.ts";

const MANY = 20;
const WIDTH = 3;

test("no more tasks run at once than may, all of them do, in the order they came", async () => {
	const inBatch = createBatches(WIDTH);
	const begun: number[] = [];
	let [running, most] = [0, 0];
	const answers = await Promise.all(
		Array.from({ length: MANY }, (_, number) =>
			inBatch(async () => {
				begun.push(number);
				most = Math.max(most, ++running);
				await nextTurn();
				running--;
				return number;
			}),
		),
	);
	assert.deepEqual([begun, answers], [answers, Array.from({ length: MANY }, (_, number) => number)]);
	assert.equal(most, WIDTH);
});

test("a task that fails tells who asked for it, and the others go on", async () => {
	const inBatch = createBatches(WIDTH);
	const outcomes = await Promise.allSettled(
		Array.from({ length: MANY }, (_, number) =>
			inBatch(() => (number % 2 === 0 ? Promise.resolve(number) : Promise.reject(new Error(`${number}`)))),
		),
	);
	for (const [number, outcome] of outcomes.entries()) {
		if (number % 2 === 0) assert.deepEqual(outcome, { status: "fulfilled", value: number });
		else assert.equal(outcome.status === "rejected" && outcome.reason.message, `${number}`);
	}
	assert.equal(await inBatch(async () => "later"), "later");
});

test("after a batch, other work gets as much time as the batch took", async (t) => {
	const inBatch = createBatches(1);
	const order: string[] = [];
	const pass = passTime(t);
	const first = inBatch(async () => pass(100));
	const second = inBatch(async () => void order.push("the second batch"));
	await first;
	await stays("the second batch waits", () => order.length === 0, 20);
	order.push("others");
	await second;
	assert.deepEqual(order, ["others", "the second batch"]);
});
