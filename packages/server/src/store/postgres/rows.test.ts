import assert from "node:assert/strict";
import { test } from "node:test";
import { aBinding } from "../../testing/rows.ts";
import type { Sql } from "./connection.ts";
import { createRows } from "./rows.ts";

test("many rows are verified in several turns of the event loop", async () => {
	const binding = aBinding("r", "u");
	const rows = Array.from({ length: 1000 }, () => ({ ...binding, mac: null }));
	const sql: Sql = { rows: async <Row>() => rows as Row[], run: async () => 0 };
	let turns = 0;
	const count = () => {
		turns++;
		next = setImmediate(count);
	};
	let next = setImmediate(count);
	const found = await createRows(sql, { fits: () => true }).verified("binding", "true");
	clearImmediate(next);
	assert.deepEqual(found, Array(1000).fill(binding));
	assert.ok(turns >= 2);
});
