import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { withLazyStatements } from "./lazy-statements.ts";
import { allWrites } from "./writes/all.ts";

test("a statement is prepared at its first use, once, and answers as any other", () => {
	const db = new Database(":memory:");
	const prepared: string[] = [];
	const own = Object.create(db, { prepare: { value: (text: string) => prepared.push(text) && db.prepare(text) } });
	const lazy = withLazyStatements(own);
	lazy.exec("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
	const [add, names, all] = ["INSERT INTO item (name) VALUES (?)", "SELECT name FROM item", "SELECT * FROM item"];
	const insert = lazy.prepare(add);
	const [plucked, whole] = [lazy.prepare(names).pluck(), lazy.prepare(all)];
	assert.deepEqual(prepared, []);
	assert.deepEqual([insert.run("one").changes, insert.run("two").lastInsertRowid], [1, 2]);
	assert.deepEqual([plucked.get(), plucked.all(), [...plucked.iterate()]], ["one", ["one", "two"], ["one", "two"]]);
	assert.deepEqual([whole.get(), whole.all().length], [{ id: 1, name: "one" }, 2]);
	assert.deepEqual(prepared, [add, names, all]);
	db.close();
});

test("a start prepares no operation: an empty database has none of their tables", () => {
	const db = new Database(":memory:");
	assert.ok(Object.keys(allWrites(db, () => undefined)).includes("secrets"));
	db.close();
});
