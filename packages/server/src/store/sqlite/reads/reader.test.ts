import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { drizzle } from "../drizzle.ts";
import { migrate } from "../migrate.ts";
import { accountReads } from "./accounts.ts";
import { engineReads } from "./engines.ts";
import { keyReads } from "./keys.ts";
import { leaseReads } from "./leases.ts";
import { policyReads } from "./policy.ts";
import { realmReads } from "./realms.ts";
import { restoreReads } from "./restores.ts";
import { secretReads } from "./secrets.ts";
import { ssoReads } from "./sso.ts";
import { tokenReads } from "./tokens.ts";

test("a question is prepared when it is asked for the first time, and once", async (t) => {
	const db = new Database(":memory:");
	t.after(() => void db.close());
	migrate(db, "");
	const prepare = t.mock.method(db, "prepare");
	const reader = drizzle({ client: db });
	const { count } = accountReads(reader, db);
	for (const reads of [engineReads, keyReads, leaseReads, policyReads, realmReads, secretReads, ssoReads, tokenReads])
		reads(reader);
	restoreReads(db);
	assert.equal(prepare.mock.callCount(), 0);
	assert.equal(count(), 0);
	assert.equal(count(), 0);
	assert.equal(prepare.mock.callCount(), 1);
});
