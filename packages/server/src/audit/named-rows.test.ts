import assert from "node:assert/strict";
import { test } from "node:test";
import { NamedRows } from "./named-rows.ts";

const named = (...names: string[]) => names.map((name) => ({ name, fingerprint: "1" }));

test("each of two adoptions in a row stands for the rows that were gone before it", () => {
	const rows = new NamedRows(new Map([["account/a", "1"]]));
	rows.take({ seq: 1, timestamp: "2030", type: "auth.register" }, named("account/a", "session/s", "session/t"));
	rows.take({ seq: 2, timestamp: "2031", type: "rows.adopted" }, named("account/a"));
	rows.take({ seq: 3, timestamp: "2031", type: "rows.adopted" }, named("session/t"));
	assert.deepEqual(
		[...rows.differing()].map(({ name, problem }) => [name, problem]),
		[["session/t", "missing"]],
	);
	rows.take({ seq: 4, timestamp: "2032", type: "rows.adopted" }, named("account/a"));
	assert.deepEqual([...rows.differing()], []);
});
