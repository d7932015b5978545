import assert from "node:assert/strict";
import { test } from "node:test";
import { restoreBuffers } from "./thread-buffers.ts";

test("messages of a thread have Buffers again, wherever they are, with their bytes", () => {
	const value = {
		a: Buffer.from("one"),
		list: [{ b: Buffer.from([0, 255]) }, null, undefined, 5, "text", true],
		empty: {},
	};
	const received = restoreBuffers(structuredClone(value));
	assert.deepEqual(received, value);
	assert.ok(Buffer.isBuffer((received as typeof value).a));
});

test("a part of a larger piece of memory arrives as that part", () => {
	const whole = Buffer.from("0123456789");
	assert.deepEqual(restoreBuffers(structuredClone(whole.subarray(3, 6))), Buffer.from("345"));
});

test("a value that is no object is as it was", () => {
	for (const value of [undefined, null, 0, "", "text", false, 2n]) assert.equal(restoreBuffers(value), value);
});
