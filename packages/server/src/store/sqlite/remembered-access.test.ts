import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createRowMacs } from "../../crypto/row-macs.ts";
import type { CurrentAccess } from "../../policy/decide.ts";
import type { Grant, Maker } from "../../policy/model.ts";
import { aBinding, aKey, anAccount, anEvent, aRealm, aToken, aVersion, MADE_AT } from "../../testing/rows.ts";
import { makeFolder, ROW_KEY } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import { createBatches, type Operation, type Outcome } from "./batch.ts";
import { migrate } from "./migrate.ts";
import { openWriter } from "./open.ts";
import { rememberAccess } from "./remembered-access.ts";
import { guardReads } from "./row-guard.ts";
import { keepTip, openChain } from "./tip.ts";
import { allWrites } from "./writes/all.ts";

const maker = (user_id: string): Maker => ({ user_id, jti: "j", token_id: undefined, grants: [] });

/** Remembers an access that counts what it is asked, with a counter of changes. */
function countedAccess() {
	const asked: string[] = [];
	const state: { changes: number | undefined } = { changes: 0 };
	const access: CurrentAccess = {
		account({ user_id }) {
			asked.push(user_id);
			return user_id === "none" ? undefined : { instance_admin: false };
		},
		role(realm_id, user_id) {
			asked.push(`${realm_id} ${user_id}`);
			return null;
		},
	};
	return {
		asked,
		state,
		remembered: rememberAccess(
			() => access,
			() => state.changes,
		),
	};
}

test("an answer is remembered for one time, also that there is none", () => {
	const { asked, remembered } = countedAccess();
	for (let time = 0; time < 3; time++) {
		assert.deepEqual(remembered.at(MADE_AT).account(maker("a")), { instance_admin: false });
		assert.equal(remembered.at(MADE_AT).account(maker("none")), undefined);
		assert.equal(remembered.at(MADE_AT).role("r", "a"), null);
	}
	assert.deepEqual(asked, ["a", "none", "r a"]);
	remembered.at("2030-01-01T00:00:00.001Z").account(maker("a"));
	assert.equal(asked.length, 4);
});

test("answers are asked for again after a change, after a transaction, and always where changes are not counted", () => {
	const { asked, state, remembered } = countedAccess();
	const ask = () => remembered.at(MADE_AT).account(maker("a"));
	ask();
	state.changes = 1;
	ask();
	remembered.forget();
	ask();
	state.changes = undefined;
	ask();
	ask();
	assert.equal(asked.length, 5);
});

test("a session, a token and a machine of one id have answers of their own", () => {
	const { asked, remembered } = countedAccess();
	const { account } = remembered.at(MADE_AT);
	account(maker("a"));
	account({ ...maker("a"), jti: undefined, token_id: "j" });
	account({ ...maker("a"), jti: "other" });
	assert.equal(asked.length, 3);
});

/** Makes a guarded database with a member who has a token, and runs batches in it. */
async function setUp(t: TestContext) {
	const db = openWriter(join(await makeFolder(t), "svc.db"));
	t.after(() => db.close());
	migrate(db, "");
	const chain = openChain(db);
	const macs = createRowMacs([ROW_KEY], createTestSystem().randomBytes);
	guardReads(db, macs);
	const batch = createBatches(db, chain, allWrites(db, chain.append), keepTip(db, chain, macs));
	const run = (...operations: Operation[]): Outcome[] => batch(operations).outcomes ?? [];
	const [owner, member] = [anAccount(), anAccount()];
	const realm = aRealm(owner.id);
	const binding = aBinding(realm.id, member.id, { role: "member" });
	const token = aToken(member.id);
	for (const account of [owner, member]) run(["accounts", "register", account, anEvent()]);
	run(["realms", "create", { realm, key: aKey(realm.id) }, anEvent()]);
	run(["policy", "bind", binding, anEvent()], ["tokens", "create", token, anEvent()]);
	const grants: Grant[] = [{ realm_id: realm.id, capability: "secrets:write", isAdminOnly: false }];
	const made = anEvent({ maker: { user_id: member.id, jti: undefined, token_id: token.id, grants } });
	let keys = 0;
	const write = (): Operation => ["secrets", "set", aVersion(realm.id, `k${keys++}`), made];
	return { db, run, write, member, realm, token };
}

const codeOf = (outcome: Outcome | undefined) =>
	outcome !== undefined && "refused" in outcome ? outcome.refused.code : "done";

const ends: Record<string, (world: Awaited<ReturnType<typeof setUp>>) => Operation> = {
	"a member is removed": ({ realm, member }) => [
		"policy",
		"unbind",
		{ realm_id: realm.id, user_id: member.id },
		anEvent(),
	],
	"a token is revoked": ({ token, member }) => ["tokens", "revoke", { id: token.id, user_id: member.id }, anEvent()],
};

for (const [what, end] of Object.entries(ends))
	test(`${what} in the middle of a batch: what was written before stays, what comes after is refused`, async (t) => {
		const world = await setUp(t);
		const { run, write } = world;
		const outcomes = run(write(), write(), end(world), write(), write());
		const refused = what.startsWith("a member") ? "not_found" : "unauthorized";
		assert.deepEqual(outcomes.map(codeOf), ["done", "done", "done", refused, refused]);
	});

test("a right that another program removes between two batches is gone in the second", async (t) => {
	const { run, write, db } = await setUp(t);
	assert.deepEqual(run(write(), write()).map(codeOf), ["done", "done"]);
	db.exec("DROP TRIGGER temp.binding_left; DELETE FROM main.binding");
	assert.deepEqual(run(write()).map(codeOf), ["not_found"]);
});
