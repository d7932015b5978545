import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { eventsUpTo, newest } from "./log-segments.ts";
import { migrate } from "./migrate.ts";
import { hasNextNumber, restoreNextNumber } from "./secret-numbers.ts";
import { openChain } from "./tip.ts";

function empty(t: TestContext) {
	const db = new Database(":memory:");
	t.after(() => void db.close());
	migrate(db, "");
	db.pragma("foreign_keys = OFF");
	return db;
}

test("events far behind the others are found without a step for each number between", (t) => {
	const db = empty(t);
	const add = db.prepare("INSERT INTO audit_event VALUES (?, '', '', '', '', '', '', zeroblob(32))");
	const numbers = [1, 2, 6001, 2 ** 52];
	for (const seq of numbers) add.run(BigInt(seq));
	const found = [...eventsUpTo(db, newest(db), "true", {})].map(({ seq }) => seq);
	assert.deepEqual(found, numbers);
});

test("the chain continues after the newest event that leaves numbers for others", (t) => {
	const db = empty(t);
	const add = db.prepare("INSERT INTO audit_event VALUES (?, '', '', '', '', '', '', zeroblob(32))");
	for (const seq of [7n, 2n ** 53n - 2n, 2n ** 53n - 1n, 2n ** 63n - 1n]) add.run(seq);
	assert.equal(openChain(db).tip().seq, 7);
});

for (const seq of ["9223372036854775807", "9007199254740991", "9007199254740989", "'x'"]) {
	test(`a next secret behind ${seq} has no number until an adoption restores it`, (t) => {
		const db = empty(t);
		db.exec(
			"INSERT INTO secret (id, realm_id, environment, key, version, created_at) VALUES (5, '', 'dev', 'KEY', 1, '')",
		);
		assert.equal(hasNextNumber(db), true);
		db.exec(`UPDATE sqlite_sequence SET seq = ${seq} WHERE name = 'secret'`);
		assert.equal(hasNextNumber(db), false);
		restoreNextNumber(db);
		assert.equal(hasNextNumber(db), true);
		assert.equal(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'secret'").pluck().get(), 5);
	});
}
