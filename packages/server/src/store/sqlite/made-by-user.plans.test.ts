import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { MADE_AT } from "../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../testing/store.ts";
import { madeByUser } from "./made-by-user.ts";
import { migrate } from "./migrate.ts";

const asked: string[] = [];
const db = new Database(join(await makeFolder({ after }), "svc.db"), { verbose: (sql) => asked.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
trustAllRows(db);

test("what a user made is looked up by the maker's indexes", () => {
	asked.length = 0;
	madeByUser(db).made("a", MADE_AT, MADE_AT);
	const plans = [...asked].map((sql) =>
		(db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join("; "),
	);
	const indexes = [
		/machine_by_maker/,
		/machine_token_by_maker/,
		/trust_by_maker .*machine_by_maker/,
		/invitation_in_order/,
	];
	assert.equal(plans.length, indexes.length);
	for (const [at, index] of indexes.entries()) {
		assert.match(plans[at] ?? "", index);
		assert.doesNotMatch(plans[at] ?? "", /SCAN (main\.)?(machine|machine_token|trust|invitation|realm)\b/);
	}
});
