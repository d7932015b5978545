import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { partialSums, STEP_ROWS } from "./partial-sums.ts";

const SUMMANDS = { by: ["colour", "size"], rows: "SELECT id AS at, colour, size, amount FROM item WHERE id >= @from" };

/** Makes a table of items, some of which have the first and the last numbers that a row can have. */
function makeItems(count: number): Database.Database {
	const db = new Database(":memory:");
	db.exec(
		"CREATE TABLE item (id INTEGER PRIMARY KEY, colour TEXT NOT NULL, size TEXT NOT NULL, amount INTEGER NOT NULL)",
	);
	const add = db.prepare("INSERT INTO item VALUES (?, ?, ?, ?)");
	const numbers = [-(2n ** 63n), -5n, 2n ** 63n - 1n];
	for (let at = 0; at < count; at++) {
		const [colour, size] = [at % 2 === 0 ? "red" : "blue", at % 3 === 0 ? "large" : "small"];
		add.run(numbers[at] ?? at, colour, size, at);
	}
	return db;
}

for (const count of [0, 1, 3, STEP_ROWS, STEP_ROWS * 2, STEP_ROWS * 2 + 1]) {
	test(`the partial sums of ${count} rows add up to the sums of all`, () => {
		const db = makeItems(count);
		const sums: Record<string, number> = {};
		for (const { colour, size, amount } of partialSums(db, SUMMANDS))
			sums[`${colour} ${size}`] = (sums[`${colour} ${size}`] ?? 0) + Number(amount);
		const all = db.prepare("SELECT colour || ' ' || size, sum(amount) FROM item GROUP BY colour, size").raw().all();
		assert.deepEqual(sums, Object.fromEntries(all as [string, number][]));
		db.close();
	});
}

test("no step groups more rows than SQLite may sort in memory", () => {
	const db = makeItems(STEP_ROWS * 3);
	const counts = [...partialSums(db, { ...SUMMANDS, rows: SUMMANDS.rows.replace("amount", "1 AS amount") })];
	assert.ok(counts.every(({ amount }) => amount <= STEP_ROWS));
	assert.ok(counts.length >= 3 * 4, "each step has sums of its own");
	db.close();
});
