import assert from "node:assert/strict";
import { test } from "node:test";
import { confirmedAt, hasSignedInSince } from "./decide.ts";

test("only a sign-in since the request counts, give or take 30 seconds between the clocks", () => {
	const [asked, now] = [1_000_000, 1_060_000];
	const table: [authenticated_ms: number | undefined, expected: boolean][] = [
		[undefined, false],
		[0, false],
		[asked - 30_001, false],
		[asked - 30_000, true],
		[asked, true],
		[now, true],
		[now + 30_000, true],
		[now + 30_001, false],
		[Number.POSITIVE_INFINITY, false],
		[Number.NaN, false],
	];
	for (const [authenticated_ms, expected] of table)
		assert.equal(hasSignedInSince(asked, authenticated_ms, now), expected, String(authenticated_ms));
});

test("a sign-in confirms from the time that the provider names, never from a later one than now", () => {
	const now = 1_000_000;
	const table: [authenticated_ms: number | undefined, expected: number | undefined][] = [
		[undefined, undefined],
		[0, 0],
		[now - 1, now - 1],
		[now, now],
		[now + 30_000, now],
		[now + 30_001, undefined],
		[Number.POSITIVE_INFINITY, undefined],
		[Number.NaN, undefined],
	];
	for (const [authenticated_ms, expected] of table)
		assert.equal(confirmedAt(authenticated_ms, now), expected, String(authenticated_ms));
});
