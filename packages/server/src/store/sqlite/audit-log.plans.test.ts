import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import type { EventQuery } from "../../audit/model.ts";
import { MADE_AT } from "../../testing/rows.ts";
import { auditLog } from "./audit-log.ts";
import { migrate } from "./migrate.ts";
import { guardReads, noKeys } from "./row-guard.ts";

const ran: string[] = [];
const db = new Database(":memory:", { verbose: (sql) => void ran.push(String(sql)) });
migrate(db, MADE_AT);
guardReads(db, noKeys);

const QUERY = { scopes: [{}], realm: undefined, type: undefined, actors: undefined };

const EVENTS: Record<string, [query: EventQuery, way: RegExp]> = {
	"since an instant": [
		{ ...QUERY, since: MADE_AT },
		/audit_event USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\).*COVERING INDEX audit_event_by_time \(timestamp>\?\)/,
	],
	"of a key": [{ ...QUERY, key: "K" }, /audit_event_by_key \(<expr>=\?/],
	"of a key in a realm": [{ ...QUERY, key: "K", realm: "r" }, /audit_event_by_key \(<expr>=\? AND realm=\?/],
	"of a token": [{ ...QUERY, token: "t" }, /audit_event_by_token \(<expr>=\? AND rowid<\?\)/],
	"of a token since an instant": [
		{ ...QUERY, token: "t", since: MADE_AT },
		/audit_event_by_token \(<expr>=\? AND rowid>\? AND rowid<\?\)/,
	],
};

for (const [what, [query, way]] of Object.entries(EVENTS)) {
	test(`events ${what} are found by an index, not by a walk through the log`, () => {
		ran.length = 0;
		const log = auditLog(db);
		log.list(query, undefined, 50);
		log.count(query);
		for (const sql of ran.filter((text) => /^SELECT \*|^SELECT count/.test(text))) {
			const plan = (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail);
			assert.deepEqual(
				plan.filter((step) => step.startsWith("SCAN")),
				[],
				sql,
			);
			assert.match(plan.join("; "), sql.startsWith("SELECT count") ? /SEARCH audit_event/ : way);
		}
	});
}
