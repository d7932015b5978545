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
	const [check, ...others] = await checkLimits({ limits });
	assert.deepEqual([check?.name, check?.status, check?.hint], ["limits", "warning", "raise limits.connections"]);
	assert.match(check?.message ?? "", /^connections: 1,639\b.*\b2,048\b/);
	assert.deepEqual(others, []);
});
