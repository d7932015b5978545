import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import {
	aMachine,
	aMachineToken,
	aNewRealm,
	anAccount,
	anEvent,
	aRealm,
	aTrust,
	MADE_AT,
} from "../../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../../testing/store.ts";
import { MAX_USED } from "../../../trusts/model.ts";
import { migrate } from "../migrate.ts";
import { openChain } from "../tip.ts";
import { allWrites } from "./all.ts";

/** Statements that were run. */
const ran: string[] = [];

const db = new Database(join(await makeFolder({ after }), "svc.db"), { verbose: (sql) => ran.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
trustAllRows(db);
const writes = allWrites(db, openChain(db).append);

const at = (ms: number) => new Date(Date.parse(MADE_AT) + ms).toISOString();

/** Adds a realm with a trust. Returns the function that gives a token of it. */
function giver() {
	const owner = anAccount();
	writes.accounts.register(owner, anEvent());
	const realm = aRealm(owner.id);
	writes.realms.create(aNewRealm(realm), anEvent());
	const machine = aMachine(realm.id);
	writes.machines.set(machine, anEvent());
	const trust = aTrust(machine.id);
	writes.trusts.set(trust, anEvent());
	const give = (mark: number | undefined, now = MADE_AT) => {
		const token = aMachineToken(machine.id, { trust_id: trust.id, created_at: now });
		const used = { digest: hash("sha256", `${mark}`, "buffer"), realm_id: realm.id, until: at(60_000) };
		return writes.trusts.exchange({ token, used: mark === undefined ? undefined : used }, anEvent());
	};
	return { realm, give };
}

/** Marks JWTs of a realm as used, without giving tokens. */
function use(realm_id: string, count: number, until: string): void {
	db.prepare(
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) " +
			"INSERT INTO trust_used (digest, realm_id, until) SELECT randomblob(32), ?, ? FROM n",
	).run(count, realm_id, until);
}

test("a realm's used JWTs are limited: a JWT that cannot be remembered is refused", () => {
	const { realm, give } = giver();
	use(realm.id, MAX_USED - 1, at(1000));
	assert.equal(give(1), "done");
	assert.equal(give(2), "limit_reached");
	assert.equal(give(1), "replay");
	assert.equal(give(undefined), "done", "one that needs no memory is");
	assert.equal(giver().give(2), "done", "another realm counts its own");
	assert.equal(give(3, at(9999)), "limit_reached", "a full memory is counted anew after ten seconds");
	assert.equal(give(3, at(10_000)), "done", "those that have ended do not count");
});

test("giving a token counts a realm's used JWTs once a minute, however many there are", () => {
	const { realm, give } = giver();
	use(realm.id, MAX_USED - 1000, at(3_600_000));
	const countings = (from: number, to: number) => {
		ran.length = 0;
		for (let ms = from; ms < to; ms += 600) assert.equal(give(ms / 600 + 10, at(ms)), "done");
		return ran.filter((sql) => sql.startsWith("SELECT count(*) FROM trust_used")).length;
	};
	assert.equal(countings(0, 60_000), 1);
	assert.equal(countings(60_000, 120_000), 1);
	assert.equal(countings(-600, 0), 1, "a clock that was set back");
});
