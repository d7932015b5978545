import assert from "node:assert/strict";
import test from "node:test";
import { displayWidth } from "./display-width.ts";
import { layOut, PLAIN } from "./table.ts";

const TERMINAL = { hasColours: false, isExact: false };

test("columns are aligned by what is seen", () => {
	const rows = [
		["日本", "1"],
		["a", "2"],
	];
	assert.deepEqual(layOut(["KEY", "V"], rows, PLAIN), { head: ["KEY   V"], rows: [["日本  1"], ["a     2"]] });
});

test("at every width, no line is wider than the terminal, and every word of every text stays whole", () => {
	const rows = [
		["one", "a text of several words", "x"],
		["antidisestablish", "b", "a few words here"],
		["", "日本 is two wide characters", ""],
	];
	const words = (texts: readonly string[]) => texts.flatMap((text) => text.split(/ +/)).filter((word) => word !== "");
	for (let width = 23; width < 80; width++) {
		const { head, rows: laid } = layOut(["ONE", "TWO", "THREE"], rows, { ...TERMINAL, width });
		const lines = [...head, ...laid.flat()];
		assert.ok(lines.every((line) => displayWidth(line) <= width));
		const shown = new Set(words(lines));
		assert.ok(words(rows.flat()).every((word) => shown.has(word)));
	}
});
