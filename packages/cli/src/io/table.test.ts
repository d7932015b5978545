import assert from "node:assert/strict";
import test from "node:test";
import { displayWidth } from "./display-width.ts";
import { cut, layOut, PLAIN, spare } from "./table.ts";

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

test("where cells are cut and columns can be spared, each row is one line down to the narrowest terminal", () => {
	const columns = [cut("WHO"), cut("TYPE"), spare("REALM"), spare("WHAT")];
	const rows = [["somebody@example.com", "auth.login.failed", "a-long-name-of-a-realm", "DB_URL prod v3 via=api"]];
	const line = (width: number) => {
		const laid = layOut(columns, rows, { ...TERMINAL, width });
		assert.deepEqual([laid.head.length, laid.rows[0]?.length], [1, 1]);
		return laid.rows[0]?.[0] ?? "";
	};
	for (let width = 22; width < 100; width++) assert.ok(displayWidth(line(width)) <= width);
	assert.match(line(46), / a-long-n.* DB_URL/);
	assert.match(line(40), /^somebody\S*… {2}auth\S*… {2}DB_URL /);
	assert.match(line(22), /^somebody@… {2}auth\.logi…$/);
	assert.match(
		line(200),
		/^somebody@example.com {2}auth.login.failed {2}a-long-name-of-a-realm {2}DB_URL prod v3 via=api$/,
	);
});
