import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { MADE_AT } from "../../../testing/rows.ts";
import { trustAllRows } from "../../../testing/store.ts";
import { migrate } from "../migrate.ts";
import { openChain } from "../tip.ts";
import { allWrites } from "./all.ts";

const db = new Database(":memory:");
migrate(db, "");
trustAllRows(db);
db.pragma("foreign_keys = OFF");
const writes = allWrites(db, openChain(db).append);
const ROWS = 1100;
const NUMBERS = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`;
const BEFORE = "2029-12-31";

type Chore = [columns: string, values: string, forget: (before: string) => number, most: number];

const CHORES: Record<string, Chore> = {
	session: [
		"jti, user_id, created_at, expires_at, provider",
		`i, 'u', '', '${BEFORE}', ''`,
		writes.accounts.dropSessions,
		1000,
	],
	known_source: ["pair, user_id, seen_at", `randomblob(32), 'u', '${BEFORE}'`, writes.accounts.dropKnownSources, 1000],
	sso_used: ["digest, until", `randomblob(32), '${BEFORE}'`, writes.sso.forgetUsed, 1000],
	trust_used: ["digest, realm_id, until", `randomblob(32), 'r', '${BEFORE}'`, writes.trusts.forgetUsed, 1000],
	invitation: [
		"id, email, digest, created_by, created_at, expires_at",
		`i, i, randomblob(32), 'u', '', '${BEFORE}'`,
		writes.invitations.drop,
		100,
	],
};

for (const [table, [columns, values, forget, most]] of Object.entries(CHORES)) {
	test(`expired rows of ${table} are removed in parts: other writes wait for one part`, () => {
		db.exec(`INSERT INTO ${table} (${columns}) ${NUMBERS} SELECT ${values} FROM n`);
		const parts: number[] = [];
		for (let count = forget(MADE_AT); count > 0; count = forget(MADE_AT)) parts.push(count);
		assert.deepEqual(
			parts,
			Array.from({ length: Math.ceil(ROWS / most) }, (_, at) => Math.min(most, ROWS - at * most)),
		);
	});
}
