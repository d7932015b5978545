import assert from "node:assert/strict";
import { test } from "node:test";
import { createDrafts } from "./drafts.ts";

test("a session has one refused form, for one target, until it is dropped or replaced", () => {
	const drafts = createDrafts();
	const mine = drafts("mine");
	assert.equal(mine.keep("one", { value: "a" }), true);
	assert.deepEqual(
		[mine.kept("one"), mine.kept("two"), drafts("other").kept("one")],
		[{ value: "a" }, undefined, undefined],
	);
	mine.keep("two", { value: "b" });
	assert.deepEqual([drafts("mine").kept("one"), drafts("mine").kept("two")], [undefined, { value: "b" }]);
	mine.drop();
	assert.equal(mine.kept("two"), undefined);
});

test("a large form is not kept, and neither is the one before; nor are those of many sessions", () => {
	const drafts = createDrafts();
	const mine = drafts("mine");
	mine.keep("one", { value: "a" });
	assert.equal(mine.keep("one", { value: "x".repeat(60_000), comment: "x".repeat(6_000) }), false);
	assert.equal(mine.kept("one"), undefined);
	mine.keep("one", { value: "a" });
	for (let at = 0; at < 64; at++) drafts(`other ${at}`).keep("one", { value: "b" });
	assert.deepEqual([mine.kept("one"), drafts("other 63").kept("one")], [undefined, { value: "b" }]);
});
