import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createPasswordGate } from "./gate.ts";

test("tasks run two at a time, in the order they came", async () => {
	const gate = createPasswordGate(2, 64);
	const started: number[] = [];
	let running = 0;
	let most = 0;
	const task = (index: number) => async () => {
		started.push(index);
		most = Math.max(most, ++running);
		await new Promise((resolve) => setImmediate(resolve));
		running--;
		return index;
	};
	const indexes = Array.from({ length: 66 }, (_, index) => index);
	assert.deepEqual(await Promise.all(indexes.map((index) => gate(task(index)))), indexes);
	assert.deepEqual(started, indexes);
	assert.equal(most, 2);
});

test("whoever finds the queue full is turned away with a time to come back", async () => {
	const gate = createPasswordGate(2, 3);
	const end = Promise.withResolvers<void>();
	const admitted = Array.from({ length: 5 }, () => gate(() => end.promise));
	await assert.rejects(
		gate(() => end.promise),
		(error) => error instanceof AppError && error.status === 503 && error.headers["Retry-After"] === "1",
	);
	end.resolve();
	await Promise.all(admitted);
	assert.equal(await gate(async () => "admitted"), "admitted");
});

test("a task that fails gives up its place", async () => {
	const gate = createPasswordGate(1, 1);
	const failures = [gate(() => Promise.reject(new Error("failed"))), gate(() => Promise.reject(new Error("failed")))];
	assert.deepEqual(
		(await Promise.allSettled(failures)).map((outcome) => outcome.status),
		["rejected", "rejected"],
	);
	assert.equal(await gate(async () => "free"), "free");
});
