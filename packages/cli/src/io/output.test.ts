import assert from "node:assert/strict";
import test from "node:test";
import { table, toJson, visible } from "./output.ts";

test("nothing that a terminal obeys is left in shown text", () => {
	assert.equal(
		visible("a\u001b]0;title\u0007\u009b31m\u007f\u0000"),
		"a\\u001b]0;title\\u0007\\u009b31m\\u007f\\u0000",
	);
	assert.equal(visible("one\ntwo\r\tthree"), "one\\ntwo\\r\\tthree");
	assert.equal(visible("\u202egpj.exe\u2066\u2028"), "\\u202egpj.exe\\u2066\\u2028");
	assert.equal(visible("Grüße 🗝️ 日本 \\n"), "Grüße 🗝️ 日本 \\n");
});

test("JSON means the same and holds no control characters but its own line breaks", () => {
	const document = { text: "a\u001b[31m\u009b\u007f\u202e\u2028 ü" };
	const text = toJson(document);
	assert.deepEqual(JSON.parse(text), document);
	assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\u202e\u2028]/u);
});

test("columns are aligned by what is seen, and only titles are bold", () => {
	assert.deepEqual(
		table(
			["KEY", "V"],
			[
				["日本", "1"],
				["a", "2"],
			],
			false,
		),
		["KEY   V", "日本  1", "a     2"],
	);
	assert.deepEqual(table(["K"], [["\u001b[31mred"]], true), ["\u001b[1mK\u001b[22m", "\\u001b[31mred"]);
});
