import assert from "node:assert/strict";
import { test } from "node:test";
import { TargetError } from "../connector.ts";
import { createSlots } from "./connection.ts";

test("slots are given out up to their number, then to those who wait, in the order they came", async () => {
	const enter = createSlots(2, 60_000);
	const [first, second] = await Promise.all([enter(), enter()]);
	const order: string[] = [];
	const third = enter().then((leave) => order.push("third") && leave);
	const fourth = enter().then((leave) => order.push("fourth") && leave);
	await new Promise((resolve) => setImmediate(resolve));
	assert.deepEqual(order, []);
	second();
	await third;
	assert.deepEqual(order, ["third"]);
	first();
	await fourth;
	assert.deepEqual(order, ["third", "fourth"]);
});

test("who leaves twice gives up one slot", async () => {
	const enter = createSlots(1, 10);
	const leave = await enter();
	leave();
	leave();
	await enter();
	await assert.rejects(enter());
});

test("who waits too long goes, and the slot goes to the next", async () => {
	const enter = createSlots(1, 30);
	const leave = await enter();
	await assert.rejects(enter(), (error) => error instanceof TargetError && error.kind === "unreachable");
	const next = enter();
	leave();
	(await next)();
	(await enter())();
});
