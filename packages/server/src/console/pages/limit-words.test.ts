import assert from "node:assert/strict";
import { test } from "node:test";
import { amountOf, limitInWords } from "./limit-words.ts";

test("a limit is named in words, and amounts are rounded", () => {
	assert.equal(limitInWords("sessions_per_account"), "Sessions, of one account");
	assert.equal(limitInWords("registrations_per_minute_per_source"), "Registrations per minute, of one source");
	assert.equal(limitInWords("realm_bytes"), "Bytes that one realm holds");
	const written = [
		amountOf("question_seconds", 0.0012234990000724792),
		amountOf("question_seconds", 2.449),
		amountOf("accounts", 100_000),
		amountOf("realm_bytes", 6553),
		amountOf("body_bytes", 67_108_864),
		amountOf("answer_bytes", 0),
	];
	assert.deepEqual(written, ["0", "2.4", "100,000", "6.4 KiB", "64 MiB", "0 bytes"]);
});
