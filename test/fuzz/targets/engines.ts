import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DescriptorError, parseDescriptor } from "../../../packages/protocol/src/descriptor.ts";
import { DurationError, formatDuration, parseDuration } from "../../../packages/protocol/src/duration.ts";
import { ProtocolViolation, readResponse } from "../../../packages/protocol/src/envelope.ts";
import { splitLines } from "../../../packages/protocol/src/lines.ts";
import { accepted, type Target } from "../target.ts";

const MAX_LINE = 256;

/** However a stream is cut into chunks, its lines are the same, and none exceeds the limit. */
export const lines: Target = {
	sources: ["packages/protocol/src/lines.ts"],
	// A pipe delivers no more than this in one turn.
	max_bytes: 64 * 1024,
	seeds: ['{"data":{}}\n{"error":"x"}\n', "\n\n", `${"x".repeat(MAX_LINE)}\n`, "x".repeat(MAX_LINE + 1)],
	tokens: ["\n", "\r\n", "x".repeat(100), "{}"],
	parse: (input) => splitLines(MAX_LINE, { onLine: () => undefined, onOverflow: () => undefined })(input),
	check(input) {
		const whole = linesOf(input, input.length);
		for (const line of whole.lines) assert.ok(line.length <= MAX_LINE && !line.includes("\n"));
		const expected = input.toString("latin1").split("\n").slice(0, -1);
		if (!whole.isOver) assert.deepEqual(whole.lines, expected);
		assert.deepEqual(linesOf(input, 7), whole);
	},
};

function linesOf(input: Buffer, step: number): { lines: string[]; isOver: boolean } {
	const found = { lines: [] as string[], isOver: false };
	const take = splitLines(MAX_LINE, {
		onLine: (line) => found.lines.push(line.toString("latin1")),
		onOverflow: () => {
			found.isOver = true;
		},
	});
	for (let at = 0; at < input.length; at += step) take(input.subarray(at, at + step));
	return found;
}

/** An engine's line has exactly one of data and error and survives being rewritten, or it ends the engine. */
export const response: Target = {
	sources: ["packages/protocol/src/envelope.ts", "packages/protocol/src/json.ts"],
	max_bytes: 1024 * 1024,
	seeds: ['{"data":{"username":"svc_1a2b3c4d"}}', '{"error":"unknown role"}', '{"data":{},"error":""}'],
	tokens: ['{"data":', '{"error":', '"__proto__":', "\\ud800", "1e999", "{", "}", '"', ","],
	parse: (input) => accepted(ProtocolViolation, () => readResponse(input)),
	check(input) {
		const found = accepted(ProtocolViolation, () => readResponse(input));
		if (found === undefined) return;
		assert.equal(Object.keys(found).length, 1);
		assert.deepEqual(JSON.parse(JSON.stringify(found)), found);
	},
};

/** A descriptor has the specified fields, or is refused with an error that quotes nothing. */
export const descriptor: Target = {
	sources: ["packages/protocol/src/descriptor.ts"],
	max_bytes: 256 * 1024,
	seeds: [readFileSync(new URL("../../../plugins/keyvalue/plugin.json", import.meta.url)), "{}"],
	tokens: ['"capabilities":', '"default_roles":', '"config_schema":', "[]", "{}", "null", '"x"', "1", "__proto__"],
	check(input) {
		let value: unknown;
		try {
			value = JSON.parse(input.toString());
		} catch {
			return;
		}
		const found = accepted(DescriptorError, () => parseDescriptor(value));
		if (found !== undefined) assert.equal(typeof found.name, "string");
	},
};

/** A duration is a whole number of nanoseconds, and reads the same when it is rewritten. */
export const duration: Target = {
	sources: ["packages/protocol/src/duration.ts"],
	max_bytes: 1024 * 1024,
	seeds: ["1h30m", "24h", "30d", "500ms", "0.5h", "-1h"],
	tokens: ["h", "m", "s", "ms", "us", "ns", "d", ".", "-", "9007199254740993", "1e5"],
	check(input) {
		const milliseconds = accepted(DurationError, () => parseDuration(input.toString(), { days: true }));
		if (milliseconds === undefined) return;
		assert.ok(Number.isFinite(milliseconds) && milliseconds >= 0);
		if (Number.isSafeInteger(milliseconds)) assert.equal(parseDuration(formatDuration(milliseconds)), milliseconds);
	},
};
