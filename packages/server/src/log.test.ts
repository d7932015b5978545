import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError, FatalError } from "./errors.ts";
import { createLog, LOG_LEVELS } from "./log.ts";
import { openWriter } from "./store/sqlite/open.ts";
import { createTestLog } from "./testing/log.ts";
import { makeFolder } from "./testing/store.ts";
import { createTestSystem } from "./testing/system.ts";

test("a line is one JSON object with time, level and event, and ends with a newline", () => {
	const { log, lines } = createTestLog();
	log("warn", "start", { message: "two\nlines\u2028", count: 2 });
	const [line = ""] = lines;
	assert.deepEqual([lines.length, line.indexOf("\n")], [1, line.length - 1]);
	assert.deepEqual(JSON.parse(line), {
		time: "2030-01-01T00:00:00.000Z",
		level: "warn",
		event: "start",
		message: "two\nlines\u2028",
		count: 2,
	});
});

test("a line has the time at which it was written", () => {
	const system = createTestSystem();
	const lines: string[] = [];
	const log = createLog("info", system, (line) => lines.push(line));
	system.advance(1234);
	log("info", "start");
	assert.equal(JSON.parse(lines[0] ?? "").time, "2030-01-01T00:00:01.234Z");
});

for (const [index, minimum] of LOG_LEVELS.entries()) {
	test(`a log of level ${minimum} keeps that and what is more severe`, () => {
		const { log, entries } = createTestLog(minimum);
		for (const level of LOG_LEVELS) log(level, "event");
		assert.deepEqual(
			entries().map((entry) => entry.level),
			LOG_LEVELS.slice(index),
		);
	});
}

test("an error is its name, its code, where it was thrown and its causes; its message is left out", () => {
	const { log, lines, entries } = createTestLog();
	const cause = Object.assign(new TypeError("CANARY one"), { code: "EINVAL", value: "CANARY" });
	log("error", "failed", { error: new Error("CANARY two\nCANARY three", { cause }) });
	assert.ok(!lines.join().includes("CANARY"), lines.join());
	const { error } = entries()[0] as { error: { name: string; stack: string[]; cause: { name: string; code: string } } };
	assert.equal(error.name, "Error");
	assert.ok(error.stack.length > 0 && error.stack.every((frame) => frame.startsWith("at ")));
	assert.ok(error.stack[0]?.includes("log.test.ts"));
	assert.deepEqual([error.cause.name, error.cause.code], ["TypeError", "EINVAL"]);
});

test("a database's words about a statement stay out of the log", async (t) => {
	const db = openWriter(`${await makeFolder(t)}/svc.db`);
	t.after(() => db.close());
	db.exec("CREATE TABLE t (x INTEGER CHECK (x <> 1)) STRICT");
	const { log, lines, entries } = createTestLog();
	const statements = [
		"SELECT 'CANARY' FROM nowhere",
		"CANARY",
		"INSERT INTO t VALUES ('CANARY')",
		"SELECT json('CANARY')",
	];
	for (const statement of statements) {
		try {
			db.prepare(statement).run();
			assert.fail(statement);
		} catch (error) {
			log("error", "request.failed", { error });
		}
	}
	assert.equal(lines.length, statements.length);
	assert.ok(!lines.join().includes("CANARY"), lines.join());
	for (const entry of entries()) assert.match((entry.error as { code?: string }).code ?? "SQLITE", /^SQLITE/);
});

test("a thrown value that is not an error is logged by its kind alone", () => {
	const { log, entries } = createTestLog();
	for (const error of ["CANARY", 5, null, { message: "CANARY" }, () => "CANARY"]) log("error", "failed", { error });
	assert.deepEqual(
		entries().map((entry) => entry.error),
		[{ name: "string" }, { name: "number" }, { name: "object" }, { name: "object" }, { name: "function" }],
	);
});

test("our own errors are logged with their name, and a chain of causes to its end", () => {
	const { log, entries } = createTestLog();
	log("error", "failed", {
		error: new FatalError("a", 78, { cause: new AppError("unhealthy", "b", { cause: "CANARY" }) }),
	});
	const { error } = entries()[0] as { error: { name: string; cause: { name: string; code: string; cause: object } } };
	assert.deepEqual([error.name, error.cause.name, error.cause.code], ["FatalError", "AppError", "unhealthy"]);
	assert.deepEqual(error.cause.cause, { name: "string" });
});

test("an error without a stack, or with an endless one, is logged all the same", () => {
	const { log, entries } = createTestLog();
	const bare = new Error("x");
	delete bare.stack;
	const deep = new Error("x");
	deep.stack = `Error: x\n${"    at somewhere\n".repeat(1000)}`;
	log("error", "failed", { error: bare });
	log("error", "failed", { error: deep });
	assert.deepEqual(
		entries().map((entry) => (entry.error as { stack: string[] }).stack.length),
		[0, 8],
	);
});
