import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createRowMacs } from "../../../crypto/row-macs.ts";
import type { Grant } from "../../../policy/model.ts";
import { aBinding, aKey, anAccount, anEvent, aRealm, aToken, aVersion, MADE_AT } from "../../../testing/rows.ts";
import { makeFolder, ROW_KEY } from "../../../testing/store.ts";
import { createTestSystem } from "../../../testing/system.ts";
import { createBatches, type Operation, type Outcome } from "../batch.ts";
import { migrate } from "../migrate.ts";
import { openWriter } from "../open.ts";

import { guardReads } from "../row-guard.ts";
import { keepTip, openChain } from "../tip.ts";
import { allWrites } from "./all.ts";
import { type AccessRows, rememberAccess } from "./current-access.ts";

/** Remembers rows that count what they are asked, with a counter of changes. */
function countedRows() {
	const asked: string[] = [];
	const state: { changes: number | undefined } = { changes: 0 };
	const read =
		(name: string) =>
		(...ids: string[]) => {
			asked.push([name, ...ids].join(" "));
			return undefined;
		};
	const owner = (realm_id: string) => read("owner")(realm_id) ?? "ada";
	const rows = { ...NO_ROWS, session: read("session"), token: read("token"), boundRole: read("boundRole"), owner };
	return { asked, state, ...rememberAccess(rows, () => state.changes) };
}

const none = () => undefined;
const NO_ROWS: AccessRows = {
	session: none,
	token: none,
	machineToken: none,
	machine: none,
	instanceAdmin: none,
	owner: none,
	boundRole: none,
	machineRole: none,
};

test("a row is read once, also one that is not there", () => {
	const { asked, rows } = countedRows();
	for (let time = 0; time < 3; time++) {
		assert.equal(rows.owner("r"), "ada");
		assert.equal(rows.session("id"), undefined);
		assert.equal(rows.token("id"), undefined);
		assert.equal(rows.boundRole("r", "id"), undefined);
	}
	assert.deepEqual(asked, ["owner r", "session id", "token id", "boundRole r id"]);
});

test("rows are read again after a change, after a transaction, and always where changes are not counted", () => {
	const { asked, state, rows, forget } = countedRows();
	rows.owner("r");
	state.changes = 1;
	rows.owner("r");
	forget();
	rows.owner("r");
	state.changes = undefined;
	rows.owner("r");
	rows.owner("r");
	assert.equal(asked.length, 5);
});

/** Time when the member's token ends. */
const ENDS_AT = "2030-01-01T00:00:01.000Z";

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
	const token = aToken(member.id, { expires_at: ENDS_AT });
	for (const account of [owner, member]) run(["accounts", "register", account, anEvent()]);
	run(["realms", "create", { realm, key: aKey(realm.id) }, anEvent()]);
	run(["policy", "bind", binding, anEvent()], ["tokens", "create", token, anEvent()]);
	const grants: Grant[] = [{ realm_id: realm.id, capability: "secrets:write", isAdminOnly: false }];
	const maker = { user_id: member.id, jti: undefined, token_id: token.id, grants };
	let keys = 0;
	const write = (timestamp = MADE_AT): Operation => [
		"secrets",
		"set",
		aVersion(realm.id, `k${keys++}`),
		anEvent({ timestamp, maker }),
	];
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

test("a token that expires in the middle of a batch writes nothing from then on", async (t) => {
	const { run, write } = await setUp(t);
	assert.deepEqual(run(write(), write(ENDS_AT), write()).map(codeOf), ["done", "unauthorized", "done"]);
});

test("a right that another program removes between two batches is gone in the second", async (t) => {
	const { run, write, db } = await setUp(t);
	assert.deepEqual(run(write(), write()).map(codeOf), ["done", "done"]);
	db.exec("DROP TRIGGER temp.binding_left; DELETE FROM main.binding");
	assert.deepEqual(run(write()).map(codeOf), ["not_found"]);
});
