import assert from "node:assert/strict";
import { copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type Database from "better-sqlite3";
import { FatalError } from "../../errors.ts";
import { makeFolder } from "../../testing/store.ts";
import { migrate } from "./migrate.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openWriter } from "./open.ts";

const NOW = "2030-01-01T00:00:00.000Z";
const LATER = "2031-01-01T00:00:00.000Z";

const history = MIGRATIONS as { name: string; sql: string }[];

/** Every statement of the history, and after each migration an empty one, before which all of it has run. */
const steps = history.flatMap(({ sql }, migration) =>
	[...statementsOf(sql), ""].map((statement) => ({ migration, statement })),
);

/** Splits a migration into statements. A trigger's own statements are indented, or end it. */
function statementsOf(sql: string): string[] {
	return sql.split(/;\n(?=\n|CREATE|--|$)/).filter((statement) => statement.trim() !== "");
}

async function open(t: TestContext): Promise<{ db: Database.Database; folder: string }> {
	const folder = await makeFolder(t);
	const db = openWriter(join(folder, "svc.db"));
	t.after(() => db.close());
	return { db, folder };
}

const schemaOf = (db: Database.Database) => db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name").all();
const applied = (db: Database.Database) => db.prepare("SELECT name, applied_at FROM migration").all();
const all = (applied_at: string) => history.map(({ name }) => ({ name, applied_at }));
const saying = (pattern: RegExp) => (error: unknown) => error instanceof FatalError && pattern.test(error.message);

/** Adds a migration to the history while a test runs. */
function withMigration(t: TestContext, sql: string): void {
	history.push({ name: "9999-test", sql });
	t.after(() => void history.pop());
}

/** The database, but it runs migrations statement by statement, and calls `reached` before each step. */
function stepping(db: Database.Database, reached: (step: number) => void): Database.Database {
	const exec = (sql: string) => {
		const migration = history.findIndex((known) => known.sql === sql);
		if (migration < 0) return db.exec(sql);
		for (const [step, one] of steps.entries()) {
			if (one.migration !== migration) continue;
			reached(step);
			db.exec(one.statement);
		}
		return db;
	};
	return new Proxy(db, {
		get: (target, name) => {
			const value: unknown = name === "exec" ? exec : Reflect.get(target, name);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

/** The schema before the first migration, and after each. */
async function schemas(t: TestContext): Promise<unknown[][]> {
	const { db } = await open(t);
	const found: unknown[][] = [];
	const look = (step: number) => {
		if (steps[step]?.migration === found.length) found.push(schemaOf(db));
	};
	migrate(stepping(db, look), NOW);
	return [...found, schemaOf(db)];
}

test("a new database gets every table, and the history says when", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	assert.deepEqual(applied(db), all(NOW));
	const tables = db
		.prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
		.all();
	const loose = (tables as { name: string; strict: number }[]).filter(
		({ name, strict }) => strict === 0 && !name.startsWith("sqlite_"),
	);
	assert.deepEqual(loose, []);
	assert.ok(tables.length > 12);
});

test("migrating again changes nothing", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	const before = schemaOf(db);
	const { total_changes } = db.prepare("SELECT total_changes() AS total_changes").get() as { total_changes: number };
	migrate(db, LATER);
	assert.deepEqual(schemaOf(db), before);
	assert.deepEqual(applied(db), all(NOW));
	assert.deepEqual(db.prepare("SELECT total_changes() AS total_changes").get(), { total_changes });
});

test("a migration that fails before any of its statements, or after the last, leaves nothing of itself", async (t) => {
	const { db } = await open(t);
	const whole = await schemas(t);
	assert.ok(steps.length > 40);
	for (const [fail, { migration }] of steps.entries()) {
		const failing = stepping(db, (step) => {
			if (step === fail) throw new Error("the disk said no");
		});
		assert.throws(() => migrate(failing, NOW), /the disk said no/);
		assert.deepEqual(schemaOf(db), whole[migration], `failed at ${fail}`);
		assert.deepEqual(applied(db), all(NOW).slice(0, migration));
		assert.equal(db.inTransaction, false);
		assert.equal(db.pragma("foreign_keys", { simple: true }), 1);
	}
	migrate(db, NOW);
	assert.deepEqual(applied(db), all(NOW));
});

test("a process that is killed between any two statements leaves files that the next start migrates", async (t) => {
	const { db, folder } = await open(t);
	// The smallest cache, so that pages of the open transaction are in the log already.
	db.pragma("cache_size = 1");
	const file = join(folder, "svc.db");
	const images = steps.map((_, step) => join(folder, `image-${step}`));
	migrate(
		stepping(db, (step) => {
			const image = images[step];
			if (image === undefined) return;
			for (const suffix of ["", "-wal"]) copyFileSync(`${file}${suffix}`, `${image}${suffix}`);
		}),
		NOW,
	);
	const whole = schemaOf(db);
	assert.ok(statSync(`${images.at(-1)}-wal`).size > statSync(`${images[0]}-wal`).size, "the log holds open pages");
	for (const [step, image] of images.entries()) {
		const found = openWriter(image);
		assert.deepEqual(applied(found), all(NOW).slice(0, steps[step]?.migration));
		migrate(found, LATER);
		assert.deepEqual(schemaOf(found), whole);
		assert.equal(found.pragma("integrity_check", { simple: true }), "ok");
		found.close();
	}
});

test("a disk that fills up on any page of a migration leaves nothing of it", async (t) => {
	const { db } = await open(t);
	const whole = await schemas(t);
	let failures = 0;
	for (let pages = 4; failures < 200; pages++) {
		db.pragma(`max_page_count = ${pages}`);
		try {
			migrate(db, NOW);
			break;
		} catch (error) {
			assert.equal((error as { code: string }).code, "SQLITE_FULL");
			assert.deepEqual(schemaOf(db), whole[applied(db).length]);
			failures++;
		}
	}
	assert.ok(failures > 20);
	assert.deepEqual(applied(db), all(NOW));
	assert.equal(db.pragma("integrity_check", { simple: true }), "ok");
});

test("a database of a newer version is refused and not touched", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	db.prepare("INSERT INTO migration VALUES ('9999-later', 'hash', ?)").run(NOW);
	const before = schemaOf(db);
	assert.throws(() => migrate(db, NOW), saying(/\bnewer svc\b/));
	assert.deepEqual(schemaOf(db), before);
});

const OTHER_HISTORIES: Record<string, string> = {
	"whose migration has another text": "UPDATE migration SET hash = replace(hash, substr(hash, 1, 1), 'x')",
	"whose migration has another name": "UPDATE migration SET name = '0001-other' WHERE name = '0001-first'",
	"with a migration before the first": "INSERT INTO migration VALUES ('0000-zeroth', 'hash', '')",
};
for (const [what, statement] of Object.entries(OTHER_HISTORIES)) {
	test(`a database ${what} is refused, naming it`, async (t) => {
		const { db } = await open(t);
		migrate(db, NOW);
		db.exec(statement);
		assert.throws(() => migrate(db, NOW), saying(/\b000[01]-\w+ /));
	});
}

test("a later migration is applied to a database that has data, and rebuilding a table keeps the rows that refer to it", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	db.exec(`INSERT INTO account (id, email, name, password, instance_admin, disabled_at, created_at) VALUES ('a', 'a@example.com', 'A', NULL, 1, NULL, '');
		INSERT INTO session (jti, user_id, created_at, expires_at, provider) VALUES ('j', 'a', '', '', '')`);
	withMigration(
		t,
		`CREATE TABLE account_new (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE) STRICT;
		INSERT INTO account_new SELECT id, email FROM account;
		DROP TABLE account;
		ALTER TABLE account_new RENAME TO account`,
	);
	migrate(db, LATER);
	assert.deepEqual(db.prepare("SELECT jti FROM session").all(), [{ jti: "j" }]);
	assert.deepEqual(applied(db).at(-1), { name: "9999-test", applied_at: LATER });
	assert.equal(db.pragma("foreign_keys", { simple: true }), 1);
});

test("a migration that leaves a row without what it refers to is refused and rolled back", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	db.exec(`INSERT INTO account (id, email, name, password, instance_admin, disabled_at, created_at) VALUES ('a', 'a@example.com', 'A', NULL, 1, NULL, '');
		INSERT INTO session (jti, user_id, created_at, expires_at, provider) VALUES ('j', 'a', '', '', '')`);
	withMigration(t, "DELETE FROM account");
	assert.throws(() => migrate(db, LATER), saying(/\b9999-test /));
	assert.equal(db.prepare("SELECT count(*) FROM account").pluck().get(), 1);
	assert.deepEqual(applied(db), all(NOW).slice(0, -1));
	assert.equal(db.inTransaction, false);
});

test("events of the log can be neither changed nor deleted", async (t) => {
	const { db } = await open(t);
	migrate(db, NOW);
	db.exec("INSERT INTO audit_event VALUES (1, '', '', '', '', '', '{}', zeroblob(32))");
	assert.throws(() => db.exec("UPDATE audit_event SET actor = 'x'"), { code: "SQLITE_CONSTRAINT_TRIGGER" });
	assert.throws(() => db.exec("DELETE FROM audit_event"), { code: "SQLITE_CONSTRAINT_TRIGGER" });
});
