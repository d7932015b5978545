import assert from "node:assert/strict";
import test from "node:test";
import { relativeTime } from "./duration.ts";

test("an instant is shown relative to now in its largest unit; a future one is rounded", () => {
	const now = Date.parse("2026-11-21T12:00:00Z");
	for (const [instant, text] of [
		["2026-11-21T12:00:00.400Z", "now"],
		["2026-11-21T11:59:18Z", "42s ago"],
		["2026-11-21T10:00:01Z", "1h ago"],
		["2026-11-19T12:00:00Z", "2d ago"],
		["2026-11-21T12:05:00Z", "in 5m"],
		["2026-11-23T11:59:55Z", "in 2d"],
		["2026-11-22T20:00:00Z", "in 1d"],
		["never", "never"],
		["", ""],
	] as const)
		assert.equal(relativeTime(instant, now), text);
});
