import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { type RowValue, rowTextOf, valuesIn } from "../../crypto/row-macs.ts";
import { coveredColumns, ROW_KINDS, type RowKind, type RowTable } from "../row-kinds.ts";
import { migrate } from "./migrate.ts";
import { rowText } from "./row-text.ts";

const db = new Database(":memory:");
migrate(db, "");

const TABLES = Object.keys(ROW_KINDS) as RowTable[];

/** Has SQLite write the text of one row, whose columns may have any type: another program can write anything. */
function textBy(table: RowTable, values: readonly RowValue[]): string {
	const columns = coveredColumns(table).map((name) => `? AS ${name}`);
	return db
		.prepare(`SELECT ${rowText(table)} FROM (SELECT ${columns.join(", ")})`)
		.pluck()
		.get(...values) as string;
}

/** Every character that JSON may escape, some of other scripts, and the ends of what UTF-16 has. */
const CHARACTERS = [
	...Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)),
	..."\u2028\u2029\ud7ff\ue000\ufeff\ufffd\uffff語😀\u{10ffff}",
];

test("SQLite writes a row's text as JSON.stringify does, whatever characters it has", () => {
	const texts = ["", "null", '["00"]', "0.5", "[]", ...CHARACTERS, CHARACTERS.join(""), "x".repeat(100_000)];
	for (const text of texts) {
		const row = ["invitation", text, null];
		assert.equal(textBy("invitation_binding", row), rowTextOf("invitation_binding", row), JSON.stringify(text));
		assert.deepEqual(valuesIn(textBy("invitation_binding", row)), row);
	}
	for (const bytes of [Buffer.alloc(0), Buffer.from([0, 10, 255]), Buffer.alloc(4096, 7)]) {
		const row = [bytes, "until"];
		assert.equal(textBy("sso_used", row), rowTextOf("sso_used", row));
		assert.deepEqual(valuesIn(textBy("sso_used", row)), row);
	}
	for (const number of [0n, -1n, 1n, 2n ** 31n, 2n ** 53n - 1n, 1_795_000_000_000n])
		assert.equal(textBy("account_limit", ["u", number, null]), rowTextOf("account_limit", ["u", Number(number), null]));
});

test("no two rows have the same text, whatever types another program gives their values", () => {
	const ofColumn: [RowTable, number, RowValue[]][] = [
		["account_limit", 1, [null, 0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, Infinity, -Infinity, "", "0", "null", "0.5"]],
		["account_limit", 0, [null, 0n, "", "0", "null", "9e999", "0.5", "[]", '"']],
		["sso_used", 0, [null, Buffer.alloc(0), Buffer.alloc(1), Buffer.from("00")]],
	];
	for (const [table, at, values] of ofColumn) {
		const texts = values.map((value) =>
			textBy(table, Object.assign(coveredColumns(table).map(String), { [at]: value })),
		);
		assert.equal(new Set(texts).size, values.length, texts.join("\n"));
	}
});

test("a value of a type that its column never has is written as no value of the server's is, and ends no question", () => {
	const JSONB = Buffer.from([0x1b, 0x61]);
	for (const bytes of [Buffer.alloc(0), Buffer.from("u"), JSONB])
		assert.equal(textBy("account_limit", [bytes, 1n, null]), '["account_limit",[0.5,1,null]]');
	for (const text of ["", "00", '["00"]', 1n, 0.5])
		assert.equal(textBy("sso_used", [text, "until"]), '["sso_used",[0.5,"until"]]');
});

test("no covered column has numbers with a fraction, and the declaration names those with bytes", () => {
	for (const table of TABLES) {
		const types = new Map(
			db.prepare("SELECT name, type FROM pragma_table_info(?)").raw().all(table) as [name: string, type: string][],
		);
		const { bytes = [] }: RowKind = ROW_KINDS[table];
		const covered = coveredColumns(table);
		assert.deepEqual(
			bytes,
			covered.filter((name) => types.get(name) === "BLOB"),
			table,
		);
		for (const name of covered) assert.match(types.get(name) ?? "", /^(TEXT|INTEGER|BLOB)$/, `${table}.${name}`);
		const strict = db.prepare("SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?").pluck();
		assert.equal(strict.get(table), 1, table);
	}
});
