import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createRowMacs } from "../../crypto/row-macs.ts";
import { emptyIndexesOf, insertOf, isRow, KEY, openGuarded } from "../../testing/guarded-rows.ts";
import { createTestSystem } from "../../testing/system.ts";
import { openTipBox, sealTip } from "../row-ledger.ts";
import { checkIntegrity, openChain, openTip } from "./tip.ts";

const MACS = createRowMacs([KEY], createTestSystem().randomBytes);

/** A database whose tip, log and rights were put back over content that was written afterwards. */
async function putBack(t: TestContext, table: "lease" | "secret_version") {
	const guarded = await openGuarded(t);
	const { writer, attacker, write, reader } = guarded;
	attacker.exec("CREATE TEMP TABLE kept AS SELECT * FROM main.tip");
	write(insertOf(writer, table, 3));
	attacker.exec("DELETE FROM main.tip; INSERT INTO main.tip SELECT * FROM temp.kept");
	const check = (which: "access" | "content") =>
		checkIntegrity(reader, MACS, which === "access" ? ["access"] : ["access", "content"]).access;
	return { ...guarded, check };
}

for (const table of ["lease", "secret_version"] as const) {
	const newer = [`rows of ${table} newer than the tip`];

	test(`a tip that is older than a row of ${table} is noticed at the start and by the full check`, async (t) => {
		const { check } = await putBack(t, table);
		assert.deepEqual([check("access"), check("content")], [newer, newer]);
	});

	test(`a newer row of ${table} that every index hides is noticed at the start and by the full check`, async (t) => {
		const { attacker, check } = await putBack(t, table);
		emptyIndexesOf(attacker, table);
		assert.deepEqual(check("access"), newer);
		assert.ok(newer.every((fault) => check("content").includes(fault)));
	});

	test(`a newer row of ${table} with a wrong MAC is no sign of an old tip`, async (t) => {
		const { attacker, writer, check } = await putBack(t, table);
		attacker.exec(`UPDATE ${table} SET mac = zeroblob(40) WHERE ${isRow(writer, table, 3)}`);
		assert.deepEqual([check("access"), check("content")], [[], []]);
	});
}

test("the newest id outlives its row, and is restored by a rollback", async (t) => {
	const { writer, write, keeper } = await openGuarded(t);
	const newest = () => openTipBox(writer.prepare("SELECT sealed FROM tip").pluck().get() as Buffer, MACS)?.rows.newest;
	write(insertOf(writer, "lease", 7));
	const before = keeper.point();
	assert.throws(() => write(`${insertOf(writer, "lease", 8)}; SELECT no_such_function()`));
	assert.deepEqual(keeper.point(), before);
	write(`DELETE FROM lease WHERE ${isRow(writer, "lease", 7)}`);
	assert.equal(newest(), "id 7");
});

test("a tip from before tips kept the newest id is believed only if all rows fit, whichever sum counted them", async (t) => {
	const { writer, attacker } = await openGuarded(t);
	const tip = openTipBox(writer.prepare("SELECT sealed FROM tip").pluck().get() as Buffer, MACS);
	assert.ok(tip !== undefined);
	const [[key, { access, content }] = assert.fail()] = tip.rows.sums;
	const sums = new Map([[key, { access: access - 5n, content: content + 5n }]]);
	const older = sealTip({ ...tip, rows: { ...tip.rows, sums, newest: undefined } }, MACS);
	attacker.prepare("UPDATE tip SET sealed = ?").run(older);
	const open = () => openTip(attacker, openChain(attacker), MACS, true, () => assert.fail());
	attacker.exec("BEGIN; DELETE FROM lease");
	assert.deepEqual(open().altered, ["the sum of access rows"]);
	attacker.exec("ROLLBACK");
	const { altered, keeper } = open();
	assert.deepEqual([altered, keeper.point().rows], [[], tip.rows]);
});
