import assert from "node:assert/strict";
import { test } from "node:test";
import { DurationError, formatDuration, parseDuration } from "./duration.ts";

const HOUR_MS = 3_600_000;

const READ: [text: string, milliseconds: number][] = [
	["1h", HOUR_MS],
	["24h", 24 * HOUR_MS],
	["90m", 90 * 60_000],
	["30s", 30_000],
	["1ms", 1],
	["1us", 0.001],
	["1µs", 0.001],
	["1μs", 0.001],
	["1ns", 0.000001],
	["1h30m", 1.5 * HOUR_MS],
	["1h30m10s5ms", 1.5 * HOUR_MS + 10_005],
	["1m1h", HOUR_MS + 60_000],
	["30m30m", HOUR_MS],
	["0h1s", 1000],
	["007s", 7000],
	["1.5h", 1.5 * HOUR_MS],
	["0.5s", 500],
	["1.1h", 3_960_000],
	["0.1h0.2h", 1_080_000],
	["1.000000001s", 1000.000001],
	["87600.1h", 315_360_360_000],
	["878400h", 878_400 * HOUR_MS],
];
for (const [text, milliseconds] of READ) {
	test(`${text} is ${milliseconds} ms`, () => {
		assert.equal(parseDuration(text), milliseconds);
	});
}

const REFUSED: unknown[] = [
	..."|0|1|0s|0h0m|0.0000000001ns|-1h|+1h|1h-1m|9999999h|878400h1s|1h 1h| 1h|1h |1h\n|1e3h|NaN|Infinityh".split("|"),
	...["1H", "1d", "30d", "1w", "1y", "h", "1.h", ".5h", "1..5h", "1,5h", "1h30", "1hh", "0x1h", "１h", "1h\0", "ＭＳ"],
	`${"1h".repeat(33)}`,
	`${"9".repeat(400)}ns`,
	`0.${"0".repeat(100)}1h`,
	5,
	3600n,
	Number.NaN,
	true,
	null,
	undefined,
	["1h"],
	{ toString: () => "1h" },
	new String("1h"),
];
for (const value of REFUSED) {
	const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 20)) : typeof value;
	test(`anything that is not a duration is refused: ${shown}`, () => {
		assert.throws(() => parseDuration(value), DurationError);
	});
}

test("days are whole, have no other unit with them, and are read only where they are asked for", () => {
	assert.equal(parseDuration("30d", { days: true }), 30 * 24 * HOUR_MS);
	assert.equal(parseDuration("36600d", { days: true }), 36_600 * 24 * HOUR_MS);
	assert.equal(parseDuration("1h30m", { days: true }), 1.5 * HOUR_MS);
	for (const text of ["0d", "1.5d", "1d12h", "12h1d", "-1d", "36601d", "9999999d", "d", "1D", "30"]) {
		assert.throws(() => parseDuration(text, { days: true }), DurationError, text);
	}
});

test("a refusal says what a duration looks like and never quotes what was sent", () => {
	for (const [options, example] of [
		[undefined, "1h30m"],
		[{ days: true }, "30d"],
	] as const)
		assert.throws(
			() => parseDuration("CANARY", options),
			({ message }: Error) => message.includes(example) && !message.includes("CANARY"),
		);
});

test("a long text of digits is refused immediately", () => {
	const cpu = process.threadCpuUsage();
	for (let count = 0; count < 100; count++) {
		assert.throws(() => parseDuration(`${"1".repeat(100_000)}x`), DurationError);
		assert.throws(() => parseDuration(`${"1".repeat(100_000)}d`, { days: true }), DurationError);
	}
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok(user + system < 1_000_000, `${user + system} µs`);
});

test("durations are written the way people do, and read back as the same", () => {
	const written: [number, string][] = [
		[24 * HOUR_MS, "24h"],
		[1.5 * HOUR_MS, "1h30m"],
		[90 * 24 * HOUR_MS, "2160h"],
		[61_001, "1m1s1ms"],
		[999, "999ms"],
	];
	for (const [milliseconds, text] of written) {
		assert.equal(formatDuration(milliseconds), text);
		assert.equal(parseDuration(text), milliseconds);
	}
	assert.equal(formatDuration(0), "0s");
});
