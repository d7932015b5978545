import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "./errors.ts";
import { isNormalizable, normalEmail } from "./normal-text.ts";
import { costOf } from "./testing/cost.ts";

/** Marks of many classes, some of which become marks only in NFKC. */
const MARKS = ["\u0301", "\u0323", "\u0345", "\u05b0", "\u3099", "\uff9e", "\uff9f", "\u{1d165}"];

test("thirty combining marks in a row are normalized, of whatever kind, and thirty-one are refused", () => {
	for (const mark of MARKS) {
		assert.ok(isNormalizable(`a${mark.repeat(30)}b${mark.repeat(30)}`));
		assert.ok(!isNormalizable(`a${mark.repeat(31)}`), JSON.stringify(mark));
	}
	const mixed = Array.from({ length: 31 }, (_, index) => MARKS[index % MARKS.length]).join("");
	assert.ok(!isNormalizable(mixed));
});

test("what may be normalized takes no longer than the same length of letters, whatever becomes of it", () => {
	const cost = (text: string) => costOf(() => text.normalize("NFKC"));
	const classes = "\u0345\u035d\u0301\u0323\u0321\u0334";
	const most = `a${classes.repeat(5)}`.repeat(8192).slice(0, 8192);
	const refused = `a${classes.repeat(8192)}`.slice(0, 8192);
	assert.ok(isNormalizable(most) && !isNormalizable(refused));
	assert.ok(cost(most) < cost(refused) / 4);
});

test("an e-mail with such a run is refused, and neither shown nor normalized", () => {
	assert.equal(normalEmail(" E\u0301va@Example.com "), "éva@example.com");
	assert.throws(
		() => normalEmail(`a${"\u0301".repeat(31)}@example.com`),
		(error) =>
			error instanceof AppError &&
			error.code === "validation_failed" &&
			error.message === "email must not have more than 30 combining marks in a row",
	);
});

test("a text too long to be an e-mail is refused before it is normalized, however small the letters that it becomes", () => {
	// NFKC makes eighteen letters of each.
	const longest = "\ufdfa".repeat(1024);
	assert.equal(normalEmail(longest).length, 18 * 1024);
	assert.throws(() => normalEmail(`${longest}\ufdfa`), { code: "validation_failed" });
});
