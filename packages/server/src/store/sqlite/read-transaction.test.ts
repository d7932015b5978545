import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, type FatalError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { STORAGE_EXIT_CODE } from "./failure.ts";
import { openReader, openWriter } from "./open.ts";
import { createReadTransaction } from "./read-transaction.ts";

const PAGE = 4096;

/** A table with a counter, a writer that raises it, and reads of it. */
async function setUp(t: TestContext) {
	const file = join(await makeFolder(t), "svc.db");
	const writer = openWriter(file);
	writer.exec("CREATE TABLE t (x INTEGER) STRICT; INSERT INTO t VALUES (0)");
	const connection = openReader(file);
	const failures: FatalError[] = [];
	let commits = 0;
	const transaction = createReadTransaction(
		connection,
		() => commits,
		(failure) => failures.push(failure),
	);
	const statement = connection.prepare("SELECT x FROM t").pluck();
	const questions = {
		value: transaction.within(() => statement.get() as number),
		echo: transaction.within((a: number, b: string) => [a, b] as const),
		fail: transaction.within((error: Error) => {
			throw error;
		}),
	};
	t.after(() => {
		transaction.end();
		connection.close();
		writer.close();
	});
	const raise = () => writer.exec("UPDATE t SET x = x + 1");
	const raiseKnown = () => {
		raise();
		commits++;
	};
	return { questions, transaction, connection, failures, raise, raiseKnown };
}

test("questions of one turn see the same, whatever is committed meanwhile, and those of the next see it", async (t) => {
	const { questions, raise } = await setUp(t);
	const first = questions.value();
	raise();
	const second = questions.value();
	assert.deepEqual([first, second], [0, 0]);
	await nextTurn();
	assert.equal(questions.value(), 1);
});

test("a question after a commit that callers know of sees it in the same turn", async (t) => {
	const { questions, raiseKnown } = await setUp(t);
	for (let count = 1; count <= 5; count++) {
		questions.value();
		raiseKnown();
		assert.equal(questions.value(), count);
	}
});

test("nothing is held open once the turn is over, so that the log can be emptied", async (t) => {
	const { questions, connection, transaction } = await setUp(t);
	questions.value();
	assert.equal(connection.inTransaction, true);
	await nextTurn();
	await nextTurn();
	assert.equal(connection.inTransaction, false);
	transaction.end();
	transaction.end();
	assert.equal(connection.inTransaction, false);
});

test("a question gets its arguments and gives its answer as it is", async (t) => {
	const { questions } = await setUp(t);
	assert.deepEqual(questions.echo(1, "a"), [1, "a"]);
});

test("a question that fails gets the error, and the others go on", async (t) => {
	const { questions, failures } = await setUp(t);
	const error = Object.assign(new Error("no such table"), { code: "SQLITE_ERROR" });
	assert.throws(() => questions.fail(error), error);
	assert.throws(() => questions.fail(new TypeError("x")), TypeError);
	assert.equal(questions.value(), 0);
	assert.deepEqual(failures, []);
});

for (const code of ["SQLITE_IOERR_READ", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN"]) {
	test(`${code} while reading ends the process and answers 503, and the words of the driver are not repeated`, async (t) => {
		const { questions, failures } = await setUp(t);
		assert.throws(
			() => questions.fail(Object.assign(new Error("CANARY"), { code })),
			(error) => error instanceof AppError && error.code === "unhealthy" && !error.message.includes("CANARY"),
		);
		assert.equal(failures.length, 1);
		assert.equal(failures[0]?.exitCode, STORAGE_EXIT_CODE);
		assert.match(failures[0]?.message ?? "", new RegExp(`the database reported ${code}`));
		assert.ok(!failures[0]?.message.includes("CANARY"));
	});
}

test("a damaged page that a question meets is reported, also by the end of its turn, and throws nothing behind it", async (t) => {
	const file = join(await makeFolder(t), "svc.db");
	const writer = openWriter(file);
	writer.exec("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('a')");
	const page = writer.prepare("SELECT rootpage FROM sqlite_schema").pluck().get() as number;
	writer.close();
	const bytes = await readFile(file);
	await writeFile(file, bytes.fill(0x5a, (page - 1) * PAGE, page * PAGE));
	const connection = openReader(file);
	t.after(() => connection.close());
	const failures: FatalError[] = [];
	const { within } = createReadTransaction(
		connection,
		() => 0,
		(failure) => failures.push(failure),
	);
	const statement = connection.prepare("SELECT x FROM t");
	const question = within(() => statement.get());
	assert.throws(question, (error) => error instanceof AppError && error.code === "unhealthy");
	await nextTurn();
	await nextTurn();
	assert.equal(connection.inTransaction, false);
	for (const { message } of failures) assert.match(message, /the database reported SQLITE_CORRUPT/);
	assert.equal(failures.length, 2, "by the question, and by the end of the turn");
});
