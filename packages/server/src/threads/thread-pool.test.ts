import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Worker } from "node:worker_threads";
import { withSlot } from "../request-slot.ts";
import { type PoolLimits, ThreadPool } from "./thread-pool.ts";

/** Echoes its question, unless the question asks for something else. */
const ECHO = `
	const { parentPort, threadId } = require("node:worker_threads");
	parentPort.on("message", (question) => {
		if (question === "forever") for (;;);
		if (question === "memory") for (const all = []; ; all.push(new Array(1e6).fill(all.length)));
		if (question === "throw") throw new Error("asked to");
		if (question === "exit") process.exit();
		if (question === "pause") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
		parentPort.postMessage(question + " by " + threadId);
	});
	parentPort.postMessage("ready");
`;

const open: ThreadPool<string, string>[] = [];
afterEach(() => Promise.all(open.splice(0).map((thread) => thread.close())));

function start(limits: Partial<PoolLimits> = {}): ThreadPool<string, string> {
	const thread = new ThreadPool<string, string>({
		start: () => new Worker(ECHO, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 32 }, stderr: true }),
		limit_ms: 30_000,
		waiting: 3,
		idle_ms: 30_000,
		...limits,
	});
	open.push(thread);
	return thread;
}

test("questions are answered one after the other by the same thread", async () => {
	const thread = start();
	const answers = await Promise.all([thread.ask("a"), thread.ask("b"), thread.ask("c")]);
	const by = answers[0]?.slice(1);
	assert.deepEqual(answers, [`a${by}`, `b${by}`, `c${by}`]);
	assert.equal(await thread.ask("d"), `d${by}`);
});

test("a question that takes too long gets no answer, and the next one gets another thread", async () => {
	const thread = start({ limit_ms: 1000 });
	const first = await thread.ask("a");
	const forever = assert.rejects(thread.ask("forever"), { why: "overdue" });
	const next = thread.ask("a");
	await forever;
	assert.notEqual(await next, first);
});

test("a thread that runs out of memory, fails or exits is replaced", async () => {
	const thread = start();
	for (const question of ["memory", "throw", "exit"]) {
		await assert.rejects(thread.ask(question), { why: "broken" }, question);
		assert.match(await thread.ask("a"), /^a by /);
	}
});

test("a question is refused when too many wait", async () => {
	const thread = start();
	await thread.ask("a");
	const waiting = [thread.ask("b"), thread.ask("c"), thread.ask("d"), thread.ask("e")];
	await assert.rejects(thread.ask("f"), { why: "busy" });
	assert.equal((await Promise.all(waiting)).length, 4);
	assert.match(await thread.ask("g"), /^g by /);
});

test("a thread that nobody asks ends, and the next question gets another one", async () => {
	const ended = Promise.withResolvers<void>();
	const thread = start({
		idle_ms: 20,
		start: () => new Worker(ECHO, { eval: true }).once("exit", () => ended.resolve()),
	});
	const first = await thread.ask("a");
	await ended.promise;
	assert.notEqual(await thread.ask("a"), first);
});

test("a thread that cannot be started fails all that wait, and the next call tries again", async () => {
	let attempts = 0;
	const programs = ["throw new Error('no')", ECHO];
	const thread = start({ start: () => new Worker(programs[attempts++] ?? "", { eval: true, stderr: true }) });
	const waiting = [thread.ask("a"), thread.ask("b")];
	for (const result of await Promise.allSettled(waiting)) {
		assert.equal(result.status === "rejected" && (result.reason as { why: string }).why, "broken");
	}
	assert.match(await thread.ask("c"), /^c by /);
});

test("after its end nobody gets an answer, and nothing is started any more", async () => {
	const thread = start();
	await thread.ask("a");
	const waiting = [thread.ask("forever"), thread.ask("b")];
	const settled = Promise.allSettled(waiting);
	await thread.close();
	for (const result of await settled) {
		assert.equal(result.status === "rejected" && (result.reason as { why: string }).why, "closed");
	}
	await assert.rejects(thread.ask("c"), { why: "closed" });
});

test("questions share the threads up to the width, and a free thread is used before another starts", async () => {
	const pool = start({ width: 2, waiting: 9 });
	const by = async (question: string) => Number((await pool.ask(question)).split(" by ")[1]);
	const one = await by("a");
	assert.equal(await by("b"), one);
	const threads = await Promise.all([by("pause"), by("pause"), by("c"), by("d")]);
	assert.equal(new Set(threads).size, 2);
	assert.ok(threads.includes(one));
});

test("a deadline includes the wait in the queue, and ends a thread only if the question runs", async () => {
	const pool = start();
	const first = await pool.ask("a");
	const running = pool.ask("pause");
	await assert.rejects(pool.ask("b", 50), { why: "overdue" });
	assert.equal(await running, first.replace("a", "pause"));
	const forever = assert.rejects(pool.ask("forever", 50), { why: "overdue" });
	const next = pool.ask("a");
	await forever;
	assert.notEqual(await next, first);
});

test("a thread that holds questions ahead answers each, in order, and fails all that it holds", async () => {
	const pool = start({ ahead: 3, waiting: 9 });
	const first = await pool.ask("a");
	const by = first.slice(1);
	assert.deepEqual(await Promise.all(["b", "c", "d", "e"].map((question) => pool.ask(question))), [
		`b${by}`,
		`c${by}`,
		`d${by}`,
		`e${by}`,
	]);
	const outcomes = await Promise.allSettled(["throw", "b", "c", "d"].map((question) => pool.ask(question)));
	assert.deepEqual(
		outcomes.map(({ status }) => status),
		["rejected", "rejected", "rejected", "fulfilled"],
	);
});

test("a question that cannot be sent to a thread is refused, and the others continue", async () => {
	const pool = start();
	const first = await pool.ask("a");
	await assert.rejects(pool.ask((() => undefined) as unknown as string), { name: "DataCloneError" });
	assert.equal(await pool.ask("a"), first);
});

test("a question releases its request's slot", async () => {
	let left = 0;
	const slot = { release: () => left++, reacquire: async () => undefined, onOver: () => () => undefined };
	const pool = start();
	await withSlot(slot, () => pool.ask("a"), undefined);
	assert.equal(left, 1);
});
