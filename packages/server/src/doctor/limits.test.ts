import assert from "node:assert/strict";
import { test } from "node:test";
import { createLimits } from "../limits.ts";
import { checkLimits } from "./limits.ts";

test("a limit is reported from four fifths on, with what to do about it", async () => {
	const limits = createLimits();
	let used = 1637;
	limits.add({ name: "connections", max: 2048, used: () => used, hint: "raise limits.connections" });
	limits.add({ name: "answers_bytes", max: 64, used: async () => 10, hint: "" });
	assert.deepEqual(
		(await checkLimits({ limits })).map(({ status }) => status),
		["ok"],
	);
	used = 1639;
	assert.deepEqual(await checkLimits({ limits }), [
		{
			name: "limits",
			status: "warning",
			message: "connections: 1,639 of 2,048 are in use",
			hint: "raise limits.connections",
		},
	]);
});
