import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { withSlot } from "../request-slot.ts";
import { Scheduler } from "./scheduler.ts";

const ADA = ["ada"] as const;

/** Counts the turns of the event loop that a task takes. */
async function turnsOf(task: Promise<unknown>): Promise<number> {
	let turns = 0;
	const count = () => {
		turns++;
		next = setImmediate(count);
	};
	let next = setImmediate(count);
	await task;
	clearImmediate(next);
	return turns;
}

function work(ms: number): void {
	for (const until = performance.now() + ms; performance.now() < until; );
}

async function* working(count: number, ms: number) {
	for (let at = 0; at < count; at++) {
		work(ms);
		yield at;
	}
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
	const found: Item[] = [];
	for await (const item of items) found.push(item);
	return found;
}

test("the items of a generator that never waits are made in many turns, and come in their order", async () => {
	const found = all(new Scheduler().each(ADA, working(12, 5)));
	// Two of them use up a turn's share.
	assert.ok((await turnsOf(found)) >= 5);
	assert.deepEqual(await found, [...Array(12).keys()]);
});

test("a long list is worked on in many turns, and its results keep their order", async () => {
	const made = new Scheduler().map(ADA, [...Array(500).keys()], (item, index) => {
		work(0.2);
		return [item, index];
	});
	// Fifty take ten milliseconds.
	assert.ok((await turnsOf(made)) >= 7);
	assert.deepEqual(
		await made,
		[...Array(500).keys()].map((item) => [item, item]),
	);
});

test("a step that exceeds a turn's share is followed by as long a pause", async () => {
	const scheduler = new Scheduler();
	const [began, ended]: [number[], number[]] = [[], []];
	const long = async () => {
		began.push(performance.now());
		work(24);
		ended.push(performance.now());
	};
	await Promise.all([scheduler.step(["ada"], long), scheduler.step(["bob"], long)]);
	// A turn's share is 4 ms; a timer counts whole milliseconds.
	assert.ok((began[1] ?? 0) - (ended[0] ?? 0) >= 18);
});

test("callers take turns, however many of one wait", async () => {
	const scheduler = new Scheduler();
	const order: string[] = [];
	const step = (name: string, ...inner: string[]) =>
		scheduler.step([name, ...inner], async () => {
			work(10);
			order.push([name, ...inner].join("/"));
		});
	const all = [
		step("cy"),
		...Array.from({ length: 4 }, () => step("ada", "shop", "bot")),
		step("ada", "ada"),
		step("bob"),
	];
	await Promise.all(all);
	assert.deepEqual(order.slice(0, 4), ["cy", "ada/shop/bot", "bob", "ada/ada"]);
	assert.equal(order.length, all.length);
});

test("a generator ends when its reader does, and when the client of its request has gone", async () => {
	let ended = 0;
	async function* many() {
		try {
			for (let count = 0; count < 100_000; count++) yield "item";
		} finally {
			ended++;
		}
	}
	const scheduler = new Scheduler();
	for await (const _ of scheduler.each(ADA, many())) break;
	assert.equal(ended, 1);
	const listeners = new Set<() => void>();
	const onOver = (listener: () => void) => {
		listeners.add(listener);
		return () => void listeners.delete(listener);
	};
	const slot = { release: () => undefined, reacquire: async () => undefined, onOver };
	const reading = withSlot(slot, () => all(scheduler.each(ADA, many())), undefined);
	setImmediate(() => {
		for (const listener of listeners) listener();
	});
	await assert.rejects(reading, (error) => error instanceof AppError && error.code === "request_timeout");
	assert.deepEqual([ended, listeners.size], [2, 0]);
});

test("a process that was stopped within a step makes others wait for no more than a moment", async (t) => {
	const scheduler = new Scheduler();
	let stopped_ms = 0;
	const real = performance.now.bind(performance);
	t.mock.method(performance, "now", () => real() + stopped_ms);
	const stop = async () => {
		stopped_ms = 600_000;
	};
	await Promise.all([scheduler.step(["ada"], stop), scheduler.step(["bob"], async () => undefined)]);
});
