import assert from "node:assert/strict";
import { test } from "node:test";
import { openShared } from "./key-set.ts";
import { KEY_PURPOSES, type KeyRow } from "./keyring-model.ts";

const row = (purpose: KeyRow["purpose"], id: number, state: KeyRow["state"], created_at: string): KeyRow => ({
	id: Buffer.alloc(8, id),
	purpose,
	realm_id: "",
	state,
	wrapped: Buffer.alloc(0),
	created_at,
});
const OTHERS = KEY_PURPOSES.filter((purpose) => purpose !== "session").map((purpose) => row(purpose, 9, "active", ""));
const idOf = (id: number) => Buffer.alloc(8, id).toString("hex");
const open = (...rows: KeyRow[]) => openShared([...rows, ...OTHERS], () => Buffer.alloc(32)).session;

test("a key is retired when its successor was made, in whatever order the rows come", () => {
	const rows = [
		row("session", 3, "active", "2030-03-01T00:00:00.000Z"),
		row("session", 1, "retired", "2030-01-01T00:00:00.000Z"),
		row("session", 2, "retired", "2030-02-01T00:00:00.000Z"),
	];
	for (const order of [rows, rows.toReversed()]) {
		const { active, byId } = open(...order);
		assert.deepEqual([active.id, active.retired_at], [idOf(3), undefined]);
		assert.equal(byId.get(idOf(1))?.retired_at?.toISOString(), "2030-02-01T00:00:00.000Z");
		assert.equal(byId.get(idOf(2))?.retired_at?.toISOString(), "2030-03-01T00:00:00.000Z");
	}
});

test("the active key is never retired, even if the clock went backwards before it was made", () => {
	const { active } = open(
		row("session", 2, "active", "2029-01-01T00:00:00.000Z"),
		row("session", 1, "retired", "2030-01-01T00:00:00.000Z"),
	);
	assert.deepEqual([active.id, active.retired_at], [idOf(2), undefined]);
});
