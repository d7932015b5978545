import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { openCheckpointer, openReader, openWriter } from "./open.ts";

const FULL = 2;
const NORMAL = 1;

const newFile = async (t: TestContext) => join(await makeFolder(t), "svc.db");
const read = (db: Database.Database, pragma: string) => db.pragma(pragma, { simple: true });

async function writer(t: TestContext, file?: string): Promise<Database.Database> {
	const db = openWriter(file ?? (await newFile(t)));
	t.after(() => db.close());
	return db;
}

test("better-sqlite3 turns a WAL database to NORMAL by itself, at the first statement and without a word", async (t) => {
	const db = new Database(await newFile(t));
	t.after(() => db.close());
	db.pragma("journal_mode = WAL");
	assert.equal(read(db, "synchronous"), FULL);
	db.prepare("SELECT count(*) FROM sqlite_schema").get();
	assert.equal(read(db, "synchronous"), NORMAL);
});

test("the writer stays at FULL while it reads, writes and moves the log", async (t) => {
	const db = await writer(t);
	assert.equal(read(db, "synchronous"), FULL);
	db.exec("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('a')");
	assert.equal(read(db, "synchronous"), FULL);
	db.transaction(() => db.prepare("INSERT INTO t VALUES (?)").run("b"))();
	assert.equal(db.prepare("SELECT count(*) FROM t").pluck().get(), 2);
	db.pragma("wal_checkpoint(TRUNCATE)");
	assert.equal(read(db, "synchronous"), FULL);
});

test("the writer is at FULL when it opens a database again, with and without a log left behind", async (t) => {
	const file = await newFile(t);
	const first = await writer(t, file);
	first.exec("CREATE TABLE t (x TEXT) STRICT");
	const beside = await writer(t, file);
	beside.prepare("SELECT * FROM t").all();
	assert.equal(read(beside, "synchronous"), FULL);
	for (const db of [first, beside]) db.close();
	const again = await writer(t, file);
	again.prepare("SELECT * FROM t").all();
	assert.equal(read(again, "synchronous"), FULL);
});

const WRITER_PRAGMAS: Record<string, unknown> = {
	journal_mode: "wal",
	synchronous: FULL,
	foreign_keys: 1,
	trusted_schema: 0,
	cell_size_check: 1,
	secure_delete: 1,
	busy_timeout: 5000,
	temp_store: 2,
	mmap_size: 0,
	wal_autocheckpoint: 0,
	journal_size_limit: 64 * 1024 * 1024,
	cache_size: -8192,
};

for (const [pragma, value] of Object.entries(WRITER_PRAGMAS)) {
	test(`the writer has ${pragma} = ${value} after statements have run`, async (t) => {
		const db = await writer(t);
		db.exec("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('a')");
		assert.equal(read(db, pragma), value);
	});
}

test("the writer's foreign keys are enforced", async (t) => {
	const db = await writer(t);
	db.exec("CREATE TABLE a (id TEXT PRIMARY KEY) STRICT; CREATE TABLE b (a TEXT REFERENCES a (id)) STRICT");
	assert.throws(() => db.exec("INSERT INTO b VALUES ('nobody')"), { code: "SQLITE_CONSTRAINT_FOREIGNKEY" });
});

test("a database that does not keep the pragmas is refused, naming one", () => {
	assert.throws(
		() => openWriter(":memory:"),
		(error) => error instanceof FatalError && /does not keep [a-z_]+=/.test(error.message),
	);
});

test("a reader sees what was committed and cannot write, whatever it is asked", async (t) => {
	const file = await newFile(t);
	const db = await writer(t, file);
	db.exec("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('a')");
	const reader = openReader(file);
	t.after(() => reader.close());
	assert.equal(reader.prepare("SELECT x FROM t").pluck().get(), "a");
	assert.equal(read(reader, "query_only"), 1);
	for (const statement of ["INSERT INTO t VALUES ('b')", "DROP TABLE t", "PRAGMA user_version = 5"]) {
		assert.throws(() => reader.exec(statement), { code: "SQLITE_READONLY" }, statement);
	}
	reader.pragma("query_only = OFF");
	assert.throws(() => reader.exec("INSERT INTO t VALUES ('b')"), { code: "SQLITE_READONLY" });
	for (const pragma of ["trusted_schema", "cell_size_check", "busy_timeout", "mmap_size"]) {
		assert.equal(read(reader, pragma), WRITER_PRAGMAS[pragma], pragma);
	}
});

test("what takes long keeps few pages, what requests ask many", async (t) => {
	const file = await newFile(t);
	await writer(t, file);
	for (const [use, kib] of [
		["requests", 16_384],
		["long", 2048],
	] as const) {
		const reader = openReader(file, use);
		t.after(() => reader.close());
		assert.equal(read(reader, "cache_size"), -kib);
	}
});

test("a reader makes no database where there is none", async (t) => {
	const file = await newFile(t);
	assert.throws(() => openReader(file), { code: "SQLITE_CANTOPEN" });
});

test("a file that is no database is refused", async (t) => {
	const file = await newFile(t);
	await writeFile(file, "not a database, and longer than a header of one hundred bytes ".repeat(20));
	assert.throws(() => openWriter(file), { code: "SQLITE_NOTADB" });
});

test("the connection that moves the log moves it, and may not write", async (t) => {
	const db = await writer(t);
	db.exec("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('a')");
	const checkpointer = openCheckpointer(db.name);
	t.after(() => checkpointer.close());
	assert.throws(() => checkpointer.exec("INSERT INTO t VALUES ('b')"), { code: "SQLITE_READONLY" });
	const moved = checkpointer.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() as { log: number; checkpointed: number };
	assert.ok(moved.log > 0);
	assert.equal(moved.checkpointed, moved.log);
	assert.equal(read(checkpointer, "synchronous"), FULL);
});
