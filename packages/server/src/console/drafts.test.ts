import assert from "node:assert/strict";
import { test } from "node:test";
import { createDrafts } from "./drafts.ts";

test("a session has one refused form, for one target, until it is dropped or replaced", () => {
	const drafts = createDrafts();
	const mine = drafts("ada", "mine");
	assert.equal(mine.keep("one", { value: "a" }), true);
	assert.deepEqual(
		[mine.kept("one"), mine.kept("two"), drafts("ada", "other").kept("one")],
		[{ value: "a" }, undefined, undefined],
	);
	mine.keep("two", { value: "b" });
	assert.deepEqual([drafts("ada", "mine").kept("one"), drafts("ada", "mine").kept("two")], [undefined, { value: "b" }]);
	mine.drop();
	assert.equal(mine.kept("two"), undefined);
});

test("a large form is not kept, and neither is the one before; nor are those of many sessions", () => {
	const drafts = createDrafts();
	const mine = drafts("ada", "mine");
	mine.keep("one", { value: "a" });
	assert.equal(mine.keep("one", { value: "x".repeat(60_000), comment: "x".repeat(6_000) }), false);
	assert.equal(mine.kept("one"), undefined);
	mine.keep("one", { value: "a" });
	for (let at = 0; at < 64; at++) drafts(`user ${at}`, "other").keep("one", { value: "b" });
	assert.deepEqual([mine.kept("one"), drafts("user 63", "other").kept("one")], [undefined, { value: "b" }]);
});

test("a form of many fields is large, whatever is in them", () => {
	const mine = createDrafts()("ada", "mine");
	const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`f${at}`, ""]));
	assert.equal(mine.keep("one", many), false);
	assert.equal(mine.keep("one", { ["x".repeat(65_536)]: "" }), false);
	assert.equal(mine.kept("one"), undefined);
});

test("one account has four forms at once, and pushes out none but its own oldest", () => {
	const drafts = createDrafts();
	drafts("root", "admin").keep("one", { value: "a" });
	for (let at = 0; at < 200; at++) drafts("eve", `session ${at}`).keep("one", { value: "b" });
	assert.deepEqual(drafts("root", "admin").kept("one"), { value: "a" });
	const kept = [195, 196, 197, 198, 199].map((at) => drafts("eve", `session ${at}`).kept("one"));
	assert.deepEqual(kept, [undefined, ...Array.from({ length: 4 }, () => ({ value: "b" }))]);
});
