import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { withSlot } from "./request-slot.ts";
import { createSemaphore, type Semaphore } from "./semaphore.ts";

const busy = () => new Error("busy");

/** Tasks that end on command. */
function tasks(semaphore: Semaphore) {
	const started: string[] = [];
	const begin = (key: string, name: string, limit_ms?: number) => {
		const [payer = "", ...inner] = key.split("/");
		const end = Promise.withResolvers<void>();
		const task = () => {
			started.push(name);
			return end.promise;
		};
		const done = semaphore.run(task, { keys: [payer, ...inner], ...(limit_ms === undefined ? {} : { limit_ms }) });
		return { done, end: () => end.resolve() };
	};
	return { begin, started };
}

test("turns go out up to the width, then to waiting tasks in order of arrival", async () => {
	const semaphore = createSemaphore(2);
	const [first, second] = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
	const order: string[] = [];
	const third = semaphore.acquire().then((release) => order.push("third") && release);
	const fourth = semaphore.acquire().then((release) => order.push("fourth") && release);
	await settle();
	assert.deepEqual(order, []);
	second();
	await third;
	assert.deepEqual(order, ["third"]);
	first();
	await fourth;
	assert.deepEqual(order, ["third", "fourth"]);
});

test("releasing a turn twice releases it once", async () => {
	const semaphore = createSemaphore(1, { busy });
	const release = await semaphore.acquire();
	release();
	release();
	await semaphore.acquire();
	await assert.rejects(semaphore.acquire({ limit_ms: 10 }), /^Error: busy$/);
});

test("a turn that comes too late is dropped and goes to the next task", async () => {
	const semaphore = createSemaphore(1, { busy });
	const { begin, started } = tasks(semaphore);
	const first = begin("a", "a1");
	await assert.rejects(begin("a", "a2", 20).done, /^Error: busy$/);
	const third = begin("a", "a3");
	first.end();
	await first.done;
	await settle();
	assert.deepEqual(started, ["a1", "a3"]);
	third.end();
	await third.done;
});

test("a key waits for its own tasks, and other keys go first", async () => {
	const { begin, started } = tasks(createSemaphore(3, { each: 1 }));
	const [first, second, other] = [begin("a", "a1"), begin("a", "a2"), begin("b", "b1")];
	await settle();
	assert.deepEqual(started, ["a1", "b1"]);
	first.end();
	await first.done;
	await settle();
	assert.deepEqual(started, ["a1", "b1", "a2"]);
	for (const task of [second, other]) task.end();
	await Promise.all([second.done, other.done]);
});

test("keys take turns, however many tasks of one wait", async () => {
	const { begin, started } = tasks(createSemaphore(1));
	const all = [begin("a", "a1"), begin("a", "a2"), begin("a", "a3"), begin("b", "b1")];
	for (const task of all) task.end();
	await Promise.all(all.map(({ done }) => done));
	assert.deepEqual(started, ["a1", "a2", "b1", "a3"]);
});

test("tasks beyond a key's waiting limit are refused, and a failed task ends its turn", async () => {
	const semaphore = createSemaphore(1, { each: 1, waiting: 1, busy });
	const { begin, started } = tasks(semaphore);
	const [first, second] = [begin("a", "a1"), begin("a", "a2")];
	await assert.rejects(begin("a", "a3").done, /^Error: busy$/);
	assert.deepEqual([semaphore.fullest(), semaphore.refused()], [1, 1]);
	const other = begin("b", "b1");
	for (const task of [first, second, other]) task.end();
	await Promise.all([first.done, second.done, other.done]);
	assert.deepEqual(started, ["a1", "a2", "b1"]);
	await assert.rejects(
		semaphore.run(() => Promise.reject(new Error("broken"))),
		/broken/,
	);
	assert.equal(await semaphore.run(async () => 1), 1);
});

test("one machine takes half of what others of its account leave, a realm's machines three quarters, its owner all", async () => {
	const { begin, started } = tasks(createSemaphore(Number.POSITIVE_INFINITY, { each: 16 }));
	const all = ["a/shop/1", "a/shop/2", "a/shop/3", "a/blog/4", "a/a"].flatMap((key) =>
		Array.from({ length: 16 }, () => begin(key, key)),
	);
	const counts = () =>
		["a/shop/1", "a/shop/2", "a/shop/3", "a/blog/4", "a/a"].map((key) => started.filter((name) => name === key).length);
	assert.deepEqual(counts(), [8, 4, 0, 2, 2]);
	for (const task of all) task.end();
	await Promise.all(all.map(({ done }) => done));
	assert.deepEqual(counts(), [16, 16, 16, 16, 16]);
	const alone = Array.from({ length: 16 }, () => begin("a/a", "alone"));
	assert.equal(started.filter((name) => name === "alone").length, 16);
	for (const task of alone) task.end();
	await Promise.all(alone.map(({ done }) => done));
});

test("a task that ends makes room for one of its own realm and one of another", async () => {
	const { begin, started } = tasks(createSemaphore(Number.POSITIVE_INFINITY, { each: 5 }));
	const first = begin("a/shop/1", "shop 1");
	const all = [begin("a/shop/1", "shop 1"), begin("a/shop/1", "shop 1"), begin("a/blog/2", "blog")];
	all.push(begin("a/blog/2", "next"), begin("a/shop/3", "shop 3"));
	assert.deepEqual(started, ["shop 1", "shop 1", "shop 1", "blog"]);
	first.end();
	await first.done;
	await settle();
	assert.deepEqual(started.slice(4), ["next", "shop 3"]);
	for (const task of all) task.end();
	await Promise.all(all.map(({ done }) => done));
});

test("a task releases its request's slot before it waits", async () => {
	let left = 0;
	const slot = { release: () => left++, reacquire: async () => undefined, onOver: () => () => undefined };
	const semaphore = createSemaphore(1);
	await withSlot(slot, () => semaphore.run(async () => assert.equal(left, 1)), undefined);
});

test("a waiting task whose client goes is not begun, and the next one has its turn", async () => {
	const semaphore = createSemaphore(1, { busy });
	const { begin, started } = tasks(semaphore);
	const first = begin("a", "a1");
	const listeners = new Set<() => void>();
	const onOver = (listener: () => void) => {
		listeners.add(listener);
		return () => void listeners.delete(listener);
	};
	const slot = { release: () => undefined, reacquire: async () => undefined, onOver };
	const left = () => new Error("nobody waits");
	const wait = (name: string) => semaphore.run(async () => void started.push(name), { keys: ["a"], left });
	const gone = withSlot(slot, wait, "a2");
	const refused = assert.rejects(gone, /^Error: nobody waits$/);
	for (const listener of listeners) listener();
	await refused;
	const next = withSlot(slot, wait, "a3");
	first.end();
	await Promise.all([first.done, next]);
	assert.deepEqual([started, listeners.size], [["a1", "a3"], 0]);
});
