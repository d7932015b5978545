import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { stays } from "../../testing/stays.ts";
import { makeFolder } from "../../testing/store.ts";
import { StorageFailure } from "./failure.ts";
import { openWriter } from "./open.ts";
import { type CheckpointerData, createWalCheckpointer } from "./wal-checkpointer.ts";

/** Enough batches for a check of the log. */
const MANY = 64;
const KIB = 1024;

/** Bounds the tests that wait for a thread. */
const PATIENT = { timeout: 50_000 };

async function makeWriter(t: TestContext) {
	const db = openWriter(join(await makeFolder(t), "svc.db"));
	t.after(() => db.close());
	db.exec("CREATE TABLE t (x BLOB) STRICT");
	const insert = db.prepare("INSERT INTO t VALUES (zeroblob(?))");
	return { db, write: (kibibytes: number) => void insert.run(kibibytes * KIB) };
}

const lengthOf = (db: Database) =>
	db.prepare("PRAGMA wal_checkpoint(NOOP)").get() as { log: number; checkpointed: number };

/** A thread that answers every request with a failure, which no real disk does on demand. */
const failing =
	(failure: string) =>
	({ port }: CheckpointerData) =>
		new Worker(
			`const { workerData: { port, failure } } = require("node:worker_threads");
			port.on("message", (request) => {
				if (request === "close") return port.close();
				Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
				port.postMessage({ failure });
			});`,
			{ eval: true, workerData: { port, failure }, transferList: [port] },
		);

/** Runs steps and reports the first failure. */
function failureOf() {
	const { promise: ended, resolve } = Promise.withResolvers<unknown>();
	const attempt = (step: () => void) => {
		try {
			step();
		} catch (error) {
			resolve(error);
		}
	};
	return { ended, attempt };
}

/** Looks at the log after each batch until a condition is met. */
async function checkUntil(check: () => void, holds: () => boolean): Promise<void> {
	for (let batch = 0; !holds(); batch++) {
		assert.ok(batch < 100_000, "it is looked at in vain");
		check();
		if (batch % MANY === 0) await wait(1);
	}
}

test("the log is moved into the database when it is long, and only when that is asked for", async (t) => {
	const { db, write } = await makeWriter(t);
	const checkpointer = createWalCheckpointer(db, (step) => step());
	write(512);
	for (let batch = 0; batch < MANY; batch++) checkpointer.check();
	await stays("it is not long", () => lengthOf(db).checkpointed === 0, 100);
	write(2048);
	await stays("nothing moves it unasked", () => lengthOf(db).checkpointed === 0, 100);
	await checkUntil(checkpointer.check, () => lengthOf(db).checkpointed > 500);
	await checkpointer.close();
});

test("the writer continues while the log is moved, and gets the result without the event loop", async (t) => {
	const { db, write } = await makeWriter(t);
	const checkpointer = createWalCheckpointer(db, (step) => step());
	write(2048);
	await checkUntil(checkpointer.check, () => lengthOf(db).checkpointed > 0);
	const end = performance.now() + 50_000;
	// No turn of the event loop ends until a second part is moved.
	for (const first = lengthOf(db).checkpointed; lengthOf(db).checkpointed < first + 500; ) {
		assert.ok(performance.now() < end, "the thread was not asked again");
		write(64);
		checkpointer.check();
	}
	await checkpointer.close();
});

for (const kibibytes of [64, 1024]) {
	test(`a log that never rests starts over when it is very long, with batches of ${kibibytes} KiB`, async (t) => {
		const { db, write } = await makeWriter(t);
		const checkpointer = createWalCheckpointer(db, (step) => step());
		let [longest, written] = [0, 0];
		await checkUntil(checkpointer.check, () => {
			write(kibibytes);
			written += kibibytes / 4;
			longest = Math.max(longest, lengthOf(db).log);
			// The thread comes late on a busy machine.
			assert.ok(longest < 100_000, `it is ${longest} pages long`);
			return lengthOf(db).log < longest;
		});
		assert.ok(longest >= 8000 && written >= longest / 2, `it was ${longest} pages long`);
		await checkpointer.close();
	});
}

test("what cannot be moved for want of room or because it is read is left for later", async (t) => {
	for (const code of ["SQLITE_FULL", "SQLITE_BUSY"]) {
		const { db, write } = await makeWriter(t);
		let results = 0;
		const count = (step: () => void) => {
			step();
			results++;
		};
		const checkpointer = createWalCheckpointer(db, count, failing(code));
		write(2048);
		await checkUntil(checkpointer.check, () => results > 1);
		await checkpointer.close();
	}
});

test(
	"any other failure ends the writer, also when no batch follows, and nothing is moved after it",
	PATIENT,
	async (t) => {
		for (const code of ["SQLITE_IOERR_FSYNC", "SQLITE_IOERR_WRITE", "SQLITE_CORRUPT", "SQLITE_READONLY", ""]) {
			const { db, write } = await makeWriter(t);
			const { ended, attempt } = failureOf();
			const checkpointer = createWalCheckpointer(db, attempt, failing(code));
			write(2048);
			for (let batch = 0; batch < MANY; batch++) checkpointer.check();
			const failure = await ended;
			assert.ok(failure instanceof StorageFailure && failure.code === code);
			for (let written = 0; written < 40 * KIB; written += 256) {
				write(256);
				checkpointer.check();
			}
			assert.equal(lengthOf(db).checkpointed, 0);
			await checkpointer.close();
		}
	},
);

test("a failure of what is under way is reported while the thread is ended", PATIENT, async (t) => {
	const { db, write } = await makeWriter(t);
	const { ended, attempt } = failureOf();
	const checkpointer = createWalCheckpointer(db, attempt, failing("SQLITE_IOERR_FSYNC"));
	write(2048);
	for (let batch = 0; batch < MANY; batch++) checkpointer.check();
	await checkpointer.close();
	const outcome = await Promise.race([ended, Promise.resolve("nothing was reported")]);
	assert.ok(outcome instanceof StorageFailure);
});

test("a thread that ends by itself ends the writer", PATIENT, async (t) => {
	const { db, write } = await makeWriter(t);
	const { ended, attempt } = failureOf();
	const broken = ({ port }: CheckpointerData) =>
		new Worker("throw new Error('CANARY')", { eval: true, workerData: port, transferList: [port] });
	const checkpointer = createWalCheckpointer(db, attempt, broken);
	write(2048);
	for (let batch = 0; batch < MANY; batch++) checkpointer.check();
	const failure = await ended;
	assert.ok(failure instanceof StorageFailure && !failure.message.includes("CANARY"));
	await checkpointer.close();
});
