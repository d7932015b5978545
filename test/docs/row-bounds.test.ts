import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { openTestStore } from "../../packages/server/src/testing/store.ts";
import { ROW_BOUNDS } from "../spec/rows.ts";

test("every table of the schema is among the bounds, with who makes it grow and where that ends", async () => {
	const { file } = await openTestStore({ after });
	const db = new DatabaseSync(file, { readOnly: true });
	const tables = db
		.prepare(
			"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
		)
		.all()
		.map(({ name }) => name);
	db.close();
	assert.ok(tables.length > 15);
	assert.deepEqual(
		ROW_BOUNDS.map(([table]) => table),
		tables,
	);
});

test("SECURITY.md shows the same bounds", () => {
	const text = readFileSync(join(import.meta.dirname, "../../SECURITY.md"), "utf8");
	const rows = text
		.slice(text.indexOf("| table"))
		.split("\n\n")[0]
		?.split("\n")
		.slice(2)
		.map((line) =>
			line
				.split("|")
				.slice(1, -1)
				.map((cell) => cell.trim()),
		);
	assert.deepEqual(
		rows,
		ROW_BOUNDS.map(([table, ...rest]) => [`\`${table}\``, ...rest]),
	);
});
