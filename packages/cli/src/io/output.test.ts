import assert from "node:assert/strict";
import test from "node:test";
import { fakeIo } from "../testing/terminal.ts";
import { type Printer, showFields, showTable, toJson, visible } from "./output.ts";
import { ids, instants, states } from "./table.ts";

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

const ID = "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d";
const CREATED = new Date(Date.now() - 3 * 3_600_000).toISOString();
const COLUMNS = [ids("ID"), "NOTE", instants("CREATED"), states("STATE")];

/** Prints a list on a terminal of this width, or without one. */
async function listed(width: number | undefined, options: Printer["options"] = {}, env: Record<string, string> = {}) {
	const { io, outcome } = fakeIo({ env, ...(width === undefined ? {} : { typed: [] }) });
	Object.assign(io.stdout, { columns: width });
	await showTable({ io, options }, [], COLUMNS, [[ID, "red\u001b[31m and a few words", CREATED, "failed"]], "none");
	return outcome(0).stdout;
}

test("a file or a program gets every cell whole, exact and without colours", async () => {
	const note = "red\\u001b[31m and a few words";
	const line = `${ID}  ${note}  ${CREATED}  failed`;
	const head = `ID${" ".repeat(36)}NOTE${" ".repeat(note.length - 2)}CREATED${" ".repeat(19)}STATE`;
	for (const options of [{}, { wide: true }, { utc: true }])
		assert.equal(await listed(undefined, options), `${head}\n${line}\n`);
});

test("a terminal has relative times and states in colour; --utc has exact ones, NO_COLOR no colour", async () => {
	const shown = await listed(200);
	assert.ok(shown.startsWith("\u001b[1mID ") && shown.includes("STATE\u001b[22m\n"), shown);
	assert.ok(shown.endsWith(" 3h ago   \u001b[31mfailed\u001b[39m\n"), shown);
	assert.ok((await listed(200, { utc: true })).includes(CREATED));
	assert.ok(!(await listed(200, {}, { NO_COLOR: "1" })).includes("\u001b"));
});

test("healthy states are green, warnings yellow and failures red, in tables and in fields", async () => {
	for (const [code, ...words] of [
		[32, "ok", "healthy", "active", "yes"],
		[33, "warning", "uncertain", "revoking", "disabled"],
		[31, "failed", "unhealthy", "abandoned", "no"],
		[undefined, "unknown", "okay", ""],
	] as const) {
		for (const word of words) {
			const { io, outcome } = fakeIo({ typed: [] });
			await showTable({ io, options: {} }, [], [states("STATE")], [[word]], "none");
			await showFields({ io, options: {} }, {}, [["state", word, "state"]]);
			const shown = code === undefined ? word : `\u001b[${code}m${word}\u001b[39m`;
			const [, cell, field] = outcome(0).stdout.split("\n");
			assert.deepEqual([cell, field], [shown, `state  ${shown}`.trimEnd()]);
		}
	}
});

test("a table that is too wide has shorter ids, then texts wrapped between words, unless --wide", async () => {
	const env = { NO_COLOR: "1" };
	const lines = async (width: number, options = {}) => (await listed(width, options, env)).trimEnd().split("\n");
	assert.deepEqual((await lines(65))[1], "0190d1c4…2c4d  red\\u001b[31m and a few words  3h ago   failed");
	assert.deepEqual(await lines(50), [
		"ID             NOTE                CREATED  STATE",
		"0190d1c4…2c4d  red\\u001b[31m and   3h ago   failed",
		"               a few words",
	]);
	assert.deepEqual(await lines(30), [
		`ID       ${ID}`,
		"NOTE     red\\u001b[31m and a",
		"         few words",
		"CREATED  3h ago",
		"STATE    failed",
	]);
	assert.ok((await lines(30, { wide: true }))[1]?.startsWith(`${ID}  red\\u001b[31m and a few words  3h ago`));
});

test("on a terminal, a field that is an instant says how far away it is", async () => {
	for (const [typed, more] of [
		[[], " (3h ago)"],
		[undefined, ""],
	] as const) {
		const { io, outcome } = fakeIo({ env: { NO_COLOR: "1" }, ...(typed ? { typed } : {}) });
		await showFields({ io, options: {} }, {}, [["created", CREATED, "instant"]]);
		assert.equal(outcome(0).stdout, `created  ${CREATED}${more}\n`);
	}
});
