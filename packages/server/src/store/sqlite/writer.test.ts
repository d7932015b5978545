import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { AppError, FatalError } from "../../errors.ts";
import { aNewRealm, anEvent, aRealm, aToken, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { STORAGE_EXIT_CODE } from "./failure.ts";
import { openReader, openWriter } from "./open.ts";
import { startWriterThread } from "./start-writer.ts";
import { Writer } from "./writer.ts";

/** A writer thread, and its messages. */
async function start(t: TestContext) {
	const file = join(await makeFolder(t), "svc.db");
	const written: (readonly string[])[] = [];
	const failures: FatalError[] = [];
	const writer = Writer.launch({
		onWritten: (operations) => void written.push(operations),
		onFailure: (failure) => void failures.push(failure),
		onAltered: () => assert.fail("nobody altered it"),
	});
	await writer.open({ file, now: MADE_AT, was_adopted: false });
	const append = (event: AuditEvent) => writer.append(event);
	const actors = () => {
		const reader = openReader(file);
		try {
			return reader.prepare("SELECT actor FROM audit_event ORDER BY seq").pluck().all();
		} finally {
			reader.close();
		}
	};
	return { writer, written, failures, append, actors, file };
}

const named = (count: number) => Array.from({ length: count }, (_, index) => `actor-${index}`);
const isUnavailable = (error: unknown) => error instanceof AppError && error.code === "unhealthy";
/** Sends an operation that does not exist: the thread takes it for damaged storage. */
const sendNonsense = (writer: Writer): Promise<unknown> => writer.operation("nonsense", "verb")();

test("thousands of operations at once are committed in a few batches", async (t) => {
	const { writer, append, actors, file } = await start(t);
	// The thread's first batch waits until all operations are queued, however slow this thread is.
	const other = openWriter(file);
	other.exec("BEGIN IMMEDIATE");
	const answers = named(3000).map((actor) => append(anEvent({ actor })));
	other.exec("COMMIT");
	other.close();
	await Promise.all(answers);
	await writer.close();
	assert.deepEqual(actors(), named(3000));
	// The operations before the thread waited, and the rest: 512 operations each.
	assert.ok(writer.commits <= 1 + Math.ceil(3000 / 512), `${writer.commits - 1} batches`);
});

test("thousands of operations of many moments are committed in the order they came", async (t) => {
	const { writer, append, actors } = await start(t);
	const expected = named(3000);
	const answered: number[] = [];
	await Promise.all(
		expected.map(async (actor, index) => {
			// A few at a time: each turn of the event loop sends what it has gathered.
			for (let turn = 0; turn < index % 7; turn++) await new Promise((resolve) => setImmediate(resolve));
			await append(anEvent({ actor }));
			answered.push(index);
		}),
	);
	await writer.close();
	assert.deepEqual(
		actors(),
		answered.map((index) => expected[index]),
		"answered in the order they were written",
	);
	assert.equal(actors().length, 3000);
});

test("one operation after the other is one batch each", async (t) => {
	const { writer, append } = await start(t);
	for (const actor of named(5)) await append(anEvent({ actor }));
	assert.equal(writer.commits, 5);
	await writer.close();
});

test("an operation is on the disk, for others to read, when it resolves, and the tip is the newest event", async (t) => {
	const { writer, append, actors } = await start(t);
	await append(anEvent({ actor: "a" }));
	assert.deepEqual(actors(), ["a"]);
	assert.equal(writer.tip.seq, 1);
	assert.ok(Buffer.isBuffer(writer.tip.hash));
	await writer.close();
});

test("closing waits for everything that was handed over, and moves the log into the database", async (t) => {
	const { writer, append, actors, file } = await start(t);
	const answers = Promise.all(named(1500).map((actor) => append(anEvent({ actor }))));
	let isAnswered = false;
	const counted = answers.then(() => {
		isAnswered = true;
	});
	await writer.close();
	assert.ok(isAnswered);
	await counted;
	assert.equal(actors().length, 1500);
	// Without its log, the copy has only the events in the database itself.
	await copyFile(file, `${file}.alone`);
	const alone = openReader(`${file}.alone`);
	assert.equal(alone.prepare("SELECT count(*) FROM audit_event").pluck().get(), 1500);
	alone.close();
});

test("operations sent once closing began are refused, and earlier ones are not", async (t) => {
	const { writer, append, actors, failures } = await start(t);
	const before = named(50).map((actor) => append(anEvent({ actor })));
	const closing = writer.close();
	await assert.rejects(append(anEvent()), isUnavailable);
	await Promise.all(before);
	await assert.rejects(append(anEvent()), isUnavailable);
	await Promise.all([closing, writer.close()]);
	assert.deepEqual([actors().length, failures], [50, []]);
});

test("an operation that fails gets an error in our words, and the others of its batch succeed", async (t) => {
	const { writer, append } = await start(t);
	const create = writer.operation("tokens", "create");
	const results = await Promise.allSettled([
		append(anEvent()),
		create(aToken("nobody", { name: "CANARY" }), anEvent()),
		append(anEvent()),
	]);
	assert.deepEqual(
		results.map((result) => result.status),
		["fulfilled", "rejected", "fulfilled"],
	);
	const { reason } = results[1] as PromiseRejectedResult;
	assert.equal(String(reason), "Error: SQLITE_CONSTRAINT_FOREIGNKEY");
	assert.deepEqual([writer.hasFailed, writer.isFull], [false, false]);
	await writer.close();
});

test("the caller gets its answer last: the tip first, then what was written, then the answer; events alone are no change", async (t) => {
	const { writer, written, append } = await start(t);
	const dropSessions = writer.operation("accounts", "dropSessions");
	await append(anEvent());
	assert.deepEqual([writer.commits, written], [1, []]);
	const probe = writer.operation("health", "probe");
	await Promise.all([append(anEvent()), dropSessions(MADE_AT), probe(MADE_AT)]).then(() => {
		assert.deepEqual([writer.tip.seq, written], [2, [["accounts.dropSessions", "health.probe"]]]);
	});
	await writer.close();
});

test("after the storage failed, everything under way and everything later is refused, and it is reported once", async (t) => {
	const { writer, failures, append, actors } = await start(t);
	await append(anEvent({ actor: "kept" }));
	const results = await Promise.allSettled([
		append(anEvent({ actor: "before" })),
		sendNonsense(writer),
		...named(3000).map((actor) => append(anEvent({ actor }))),
	]);
	assert.ok(results.every((result) => result.status === "rejected" && isUnavailable(result.reason)));
	await assert.rejects(append(anEvent()), isUnavailable);
	assert.equal(writer.hasFailed, true);
	assert.equal(failures.length, 1);
	assert.equal(failures[0]?.exitCode, STORAGE_EXIT_CODE);
	assert.deepEqual(actors(), ["kept"]);
	// The thread has ended by itself: closing must not wait for it to end again.
	await writer.close();
	await writer.close();
});

test("a file that is no database does not start, saying so", async (t) => {
	const file = join(await makeFolder(t), "svc.db");
	await writeFile(file, "no database ".repeat(1000));
	const input = { file, now: MADE_AT, was_adopted: false } as const;
	const neverCalled = () => assert.fail("a storage that never ran tells nothing");
	const writer = Writer.launch({ onWritten: neverCalled, onFailure: neverCalled, onAltered: neverCalled });
	await assert.rejects(
		writer.open(input),
		(error) =>
			error instanceof FatalError &&
			/svc\.db is damaged, or not a database \(SQLITE_NOTADB\): restore it/.test(error.message),
	);
	await writer.close();
});

test("a thread that was given nothing to open ends on request", async () => {
	const neverCalled = () => assert.fail("a storage that never ran tells nothing");
	const writer = Writer.launch({ onWritten: neverCalled, onFailure: neverCalled, onAltered: neverCalled });
	await writer.close();
	await writer.close();
});

test("a thread that was started earlier writes for a writer, and keeps no process alive before", async (t) => {
	const source = new URL("./start-writer.ts", import.meta.url);
	const run = `const { startWriterThread } = await import(${JSON.stringify(source)}); startWriterThread();`;
	const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", run], { timeout: 30_000 });
	assert.equal(status, 0);
	const file = join(await makeFolder(t), "svc.db");
	const neverCalled = () => assert.fail("nothing fails, and nobody altered it");
	const started = startWriterThread();
	const exited = once(started, "exit");
	const writer = Writer.launch({ onWritten: () => {}, onFailure: neverCalled, onAltered: neverCalled }, started);
	await writer.open({ file, now: MADE_AT, was_adopted: false });
	await writer.append(anEvent());
	assert.equal(writer.tip.seq, 1);
	await writer.close();
	assert.deepEqual(await exited, [0]);
});

test("byte strings arrive at the other side as they are, alone and in a batch", async (t) => {
	const { writer, file } = await start(t);
	const register = writer.operation("accounts", "register");
	const create = writer.operation("realms", "create");
	const owner = { id: "u", email: "u@example.com", name: "", password: null, instance_admin: false, disabled_at: null };
	await register({ ...owner, created_at: MADE_AT }, anEvent());
	const bytes = Buffer.from(Array.from({ length: 8 }, (_, index) => 255 - index));
	const key = { id: bytes, purpose: "record", realm_id: "r", state: "active", wrapped: bytes, created_at: "" } as const;
	assert.equal(await create(aNewRealm(aRealm("u", { id: "r" }), key), anEvent()), "done");
	await writer.close();
	const reader = openReader(file);
	assert.deepEqual(reader.prepare("SELECT id, wrapped FROM keyring").get(), { id: bytes, wrapped: bytes });
	reader.close();
});
