import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { MADE_AT } from "../../testing/rows.ts";
import { believeAll, makeFolder } from "../../testing/store.ts";
import { drizzle } from "./drizzle.ts";
import { migrate } from "./migrate.ts";
import { revocationReads } from "./reads/revocations.ts";

const asked: [sql: string, params: unknown[]][] = [];
const db = new Database(join(await makeFolder({ after }), "svc.db"));
after(() => void db.close());
migrate(db, "");
believeAll(db);
const reader = drizzle({ client: db, logger: { logQuery: (sql, params) => asked.push([sql, params]) } });

test("what a user made is looked up by the maker's indexes", () => {
	revocationReads(reader).made("a", MADE_AT, MADE_AT);
	const plans = asked.map(([sql, params]) =>
		(db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[])
			.map(({ detail }) => detail)
			.join("; "),
	);
	const indexes = [/machine_by_maker/, /machine_token_by_maker/, /trust_by_maker/, /invitation_by_maker/];
	for (const [at, index] of indexes.entries()) {
		assert.match(plans[at] ?? "", index);
		assert.doesNotMatch(plans[at] ?? "", /SCAN /);
	}
});
