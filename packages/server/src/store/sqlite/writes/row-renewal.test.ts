import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createRowMacs } from "../../../crypto/row-macs.ts";
import {
	insertOf,
	isRow,
	KEY,
	kindOf,
	NEXT_KEY,
	openGuarded,
	TABLES,
	transact,
} from "../../../testing/guarded-rows.ts";
import { createTestSystem } from "../../../testing/system.ts";
import { checkIntegrity } from "../tip.ts";
import { createRenewal } from "./row-renewal.ts";

/** A database whose key for rows is replaced. Its rows are renewed in one transaction each step. */
async function setUp(t: TestContext) {
	const guarded = await openGuarded(t);
	const { writer, keeper, write, attacker } = guarded;
	const renewal = createRenewal(writer);
	const name = KEY.id.toString("hex");
	return {
		...guarded,
		replaceKey: () =>
			write(
				`INSERT INTO keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (x'${NEXT_KEY.id.toString("hex")}', 'rows', '', 'active', x'', '')`,
			),
		renewAll() {
			let position = "";
			const step = () => {
				position = renewal.renew(position);
			};
			do transact(writer, keeper, step);
			while (position !== "");
		},
		/** Tells whether the sums still count a row of the key before. */
		isNeeded: () => renewal.isCounted(name),
		/** Counts the rows of a table that have a MAC of the key before. */
		old: (table: string) =>
			attacker
				.prepare(`SELECT count(*) FROM ${table} WHERE hex(substr(mac, 1, 8)) = ?`)
				.pluck()
				.get(name.toUpperCase()),
	};
}

test("every row of every table gets a MAC of the new key, however many there are, and stays what it is", async (t) => {
	const { writer, write, said, seen, replaceKey, renewAll, isNeeded, old } = await setUp(t);
	for (let number = 3; number < 250; number++) write(insertOf(writer, "session", number));
	replaceKey();
	write(insertOf(writer, "binding", 7));
	assert.deepEqual([said(), isNeeded(), old("session"), old("binding")], [[], true, 249, 2]);
	renewAll();
	assert.deepEqual([said(), isNeeded()], [[], false]);
	for (const table of TABLES) {
		assert.equal(old(table), 0, table);
		if (kindOf(table).altered !== "unread") assert.equal(seen(table, 2), 1, table);
	}
	renewAll();
	assert.deepEqual(said(), []);
});

for (const table of TABLES) {
	const sum = `the sum of ${kindOf(table).sum} rows`;

	test(`a row of ${table} that was altered stays so when all others are renewed`, async (t) => {
		const { attacker, said, replaceKey, renewAll, isNeeded } = await setUp(t);
		attacker.exec(`UPDATE ${table} SET mac = zeroblob(40) WHERE ${isRow(attacker, table, 1)}`);
		attacker.exec(insertOf(attacker, table, 5));
		attacker.exec(
			`UPDATE ${table} SET mac = (SELECT mac FROM ${table} WHERE ${isRow(attacker, table, 2)}) WHERE ${isRow(attacker, table, 5)}`,
		);
		replaceKey();
		renewAll();
		assert.deepEqual(said(), [sum, `rows of ${table}`]);
		const macs = [1, 5].map((number) =>
			attacker
				.prepare(`SELECT substr(mac, 1, 8) FROM ${table} WHERE ${isRow(attacker, table, number)}`)
				.pluck()
				.get(),
		);
		assert.deepEqual(macs, [Buffer.alloc(8), KEY.id]);
		assert.ok(isNeeded(), "the sum of the key before still counts the row that was altered");
	});

	test(`a row of ${table} that was put back is noticed before and after it is renewed, also without the key before`, async (t) => {
		const { attacker, reader, write, said, replaceKey, renewAll, isNeeded } = await setUp(t);
		attacker.exec(`CREATE TEMP TABLE kept AS SELECT * FROM main.${table} WHERE ${isRow(attacker, table, 1)}`);
		const putBack = () => attacker.exec(`INSERT INTO ${table} SELECT * FROM temp.kept`);
		write(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		replaceKey();
		putBack();
		assert.deepEqual(said(), [sum]);
		renewAll();
		assert.deepEqual(said(), [sum]);
		assert.ok(isNeeded());
		const alone = createRowMacs([NEXT_KEY], createTestSystem().randomBytes);
		assert.deepEqual(Object.values(checkIntegrity(reader, alone, ["access", "content"])).flat(), [sum]);
		write(`DELETE FROM ${table} WHERE ${isRow(attacker, table, 1)}`);
		assert.deepEqual(said(), [sum], "its end is no proof that it never was there");
	});
}
