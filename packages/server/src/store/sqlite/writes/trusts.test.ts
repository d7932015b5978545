import assert from "node:assert/strict";
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
import { believeAll, makeFolder } from "../../../testing/store.ts";
import { MAX_USED } from "../../../trusts/model.ts";
import { migrate } from "../migrate.ts";
import { openChain } from "../tip.ts";
import { allWrites } from "./all.ts";

const db = new Database(join(await makeFolder({ after }), "svc.db"));
after(() => void db.close());
migrate(db, "");
believeAll(db);
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
		const used = { digest: Buffer.alloc(32, mark), realm_id: realm.id, until: at(60_000) };
		return writes.trusts.give({ token, used: mark === undefined ? undefined : used }, anEvent());
	};
	return { realm, give };
}

test("a realm's used JWTs are limited: a JWT that could not be remembered is refused", () => {
	const { realm, give } = giver();
	db.prepare(
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) " +
			"INSERT INTO trust_used (digest, realm_id, until) SELECT CAST(printf('%032d', i) AS BLOB), ?, ? FROM n",
	).run(MAX_USED - 1, realm.id, at(1000));
	assert.equal(give(1), "done");
	assert.equal(give(2), "limit_reached");
	assert.equal(give(1), "replay");
	assert.equal(give(undefined), "done", "one that needs no memory is");
	assert.equal(giver().give(2), "done", "another realm counts its own");
	assert.equal(give(3, at(1000)), "done", "those that have ended do not count");
});
