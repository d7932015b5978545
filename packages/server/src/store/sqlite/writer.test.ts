import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AppError, FatalError } from "../../errors.ts";
import { anEvent, aRealm, aToken, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { openReader } from "./open.ts";
import { STORAGE_EXIT_CODE, Writer } from "./writer.ts";

/** A writer thread. `tips` gets the end of the chain once at the start and once a batch. */
async function start(t: TestContext) {
	const file = join(await makeFolder(t), "svc.db");
	const tips: { seq: number; hash: Buffer }[] = [];
	const failures: FatalError[] = [];
	const writer = await Writer.start(
		{ file, synchronous: "FULL", now: MADE_AT },
		(tip) => tips.push(tip),
		(failure) => failures.push(failure),
	);
	const { append } = writer.noun("audit", ["append"]);
	const actors = () => {
		const reader = openReader(file);
		try {
			return reader.prepare("SELECT actor FROM audit_event ORDER BY seq").pluck().all();
		} finally {
			reader.close();
		}
	};
	return { writer, tips, failures, append, actors, file };
}

const named = (count: number) => Array.from({ length: count }, (_, index) => `actor-${index}`);
const isUnavailable = (error: unknown) => error instanceof AppError && error.code === "unhealthy";
/** What no program of one piece ever sends: the thread takes it for a damaged storage. */
const sendNonsense = (writer: Writer): Promise<unknown> =>
	(writer.noun as (noun: string, verbs: string[]) => Record<string, () => Promise<unknown>>)
		.call(writer, "nonsense", ["verb"])
		.verb?.() ?? Promise.resolve();

test("two thousand operations at once are committed in four batches and in the order they came", async (t) => {
	const { writer, tips, append, actors } = await start(t);
	const expected = named(2000);
	await Promise.all(expected.map((actor) => append(anEvent({ actor }))));
	await writer.close();
	assert.deepEqual(actors(), expected);
	assert.deepEqual(
		tips.map((tip) => tip.seq),
		[0, 512, 1024, 1536, 2000],
	);
});

test("what comes while a batch is being committed waits for it and goes together", async (t) => {
	const { writer, tips, append, actors } = await start(t);
	const order: string[] = [];
	const send = async (actor: string) => {
		await append(anEvent({ actor }));
		order.push(actor);
	};
	const first = send("first");
	// The first batch leaves at the end of this turn of the event loop; the others find it on its way.
	await new Promise((resolve) => setImmediate(resolve));
	await Promise.all([first, ...named(100).map(send)]);
	assert.equal(tips.length, 3);
	assert.deepEqual(order, ["first", ...named(100)]);
	await writer.close();
	assert.deepEqual(actors(), ["first", ...named(100)]);
});

test("one operation after the other is one batch each", async (t) => {
	const { writer, tips, append } = await start(t);
	for (const actor of named(5)) await append(anEvent({ actor }));
	assert.equal(tips.length, 6);
	await writer.close();
});

test("an operation is on the disk, for others to read, when it resolves, and the tip is the newest event", async (t) => {
	const { writer, append, actors, tips } = await start(t);
	await append(anEvent({ actor: "a" }));
	assert.deepEqual(actors(), ["a"]);
	assert.equal(tips.at(-1)?.seq, 1);
	assert.ok(Buffer.isBuffer(tips.at(-1)?.hash));
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
	// Without its log: what is not in the database itself is not there.
	await copyFile(file, `${file}.alone`);
	const alone = openReader(`${file}.alone`);
	assert.equal(alone.prepare("SELECT count(*) FROM audit_event").pluck().get(), 1500);
	alone.close();
});

test("an operation that fails is told so in words of ours, and the ones beside it succeed", async (t) => {
	const { writer, append } = await start(t);
	const { create } = writer.noun("tokens", ["create"]);
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
	assert.equal(String(reason), "Error: tokens.create: SQLITE_CONSTRAINT_FOREIGNKEY");
	assert.deepEqual([writer.hasFailed, writer.isFull], [false, false]);
	await writer.close();
});

test("after the storage failed everything under way and everything later is refused, and it is told once", async (t) => {
	const { writer, failures, append, actors } = await start(t);
	await append(anEvent({ actor: "kept" }));
	const results = await Promise.allSettled([
		append(anEvent({ actor: "before" })),
		sendNonsense(writer),
		...named(600).map((actor) => append(anEvent({ actor }))),
	]);
	assert.ok(results.every((result) => result.status === "rejected" && isUnavailable(result.reason)));
	await assert.rejects(append(anEvent()), isUnavailable);
	assert.equal(writer.hasFailed, true);
	assert.equal(failures.length, 1);
	assert.equal(failures[0]?.exitCode, STORAGE_EXIT_CODE);
	assert.match(failures[0]?.message ?? "", /check the disk, then start again/);
	assert.deepEqual(actors(), ["kept"]);
});

test("a file that is no database does not start, saying so", async (t) => {
	const file = join(await makeFolder(t), "svc.db");
	await writeFile(file, "no database ".repeat(1000));
	const input = { file, synchronous: "FULL", now: MADE_AT } as const;
	await assert.rejects(
		Writer.start(
			input,
			() => undefined,
			() => assert.fail("told as a failure of a running storage"),
		),
		(error) => error instanceof FatalError && /^the database cannot be opened: /.test(error.message),
	);
});

test("byte strings arrive at the other side as they are, alone and in a batch", async (t) => {
	const { writer, file } = await start(t);
	const { register } = writer.noun("accounts", ["register"]);
	const { create } = writer.noun("realms", ["create"]);
	const owner = { id: "u", email: "u@example.com", name: "", password: null, instance_admin: false, disabled_at: null };
	await register({ ...owner, created_at: MADE_AT }, anEvent());
	const bytes = Buffer.from(Array.from({ length: 8 }, (_, index) => 255 - index));
	const key = { id: bytes, purpose: "record", realm_id: "r", state: "active", wrapped: bytes, created_at: "" } as const;
	assert.equal(await create({ realm: aRealm("u", { id: "r" }), key }, anEvent()), "done");
	await writer.close();
	const reader = openReader(file);
	assert.deepEqual(reader.prepare("SELECT id, wrapped FROM keyring").get(), { id: bytes, wrapped: bytes });
	reader.close();
});
