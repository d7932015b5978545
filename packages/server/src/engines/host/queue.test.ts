import assert from "node:assert/strict";
import { test } from "node:test";
import { CORE, coreFor } from "./failures.ts";
import { type Job, Queue } from "./queue.ts";

const job = (of: string): Job => ({ of }) as Job;
const never = () => 0;

function filled(...realms: string[]): Queue {
	const queue = new Queue();
	for (const of of realms) queue.add(job(of));
	return queue;
}

function order(queue: Queue, pause: (of: string) => number = never): string {
	const taken: string[] = [];
	for (let next = queue.take(pause); next !== undefined; next = queue.take(pause)) taken.push(next.of);
	return taken.join(" ");
}

test("the core's calls come first, those of realms by realm in turn, each realm's in their order", () => {
	assert.equal(order(filled("a", "a", "a", "b", "c", CORE, "b", CORE)), `${CORE} ${CORE} a b c a b a`);
	const queue = filled("a", "a");
	const [first] = queue.jobs;
	assert.equal(queue.take(never), first);
	assert.equal(order(new Queue()), "");
});

test("the core's calls for realms come first, too, in turn, and behind the others where they fail", () => {
	const [a, b] = [coreFor("1"), coreFor("2")];
	assert.equal(order(filled("x", a, a, a, b, CORE)), [a, b, CORE, a, a, "x"].join(" "));
	assert.equal(
		order(filled("x", a, a, b, b), (of) => (of === a ? 100 : 0)),
		[b, b, "x", a, a].join(" "),
	);
});

test("a realm whose calls failed waits behind the others", () => {
	const pause = (of: string) => (of === "a" ? 100 : 0);
	assert.equal(order(filled("a", "a", "b", "b"), pause), "b b a a");
});

test("a realm that has filled the queue keeps out itself, and not one that has few calls, nor the core", () => {
	const queue = filled(...Array<string>(64).fill("a"));
	assert.deepEqual([queue.hasRoom("a"), queue.hasRoom("b"), queue.hasRoom(CORE)], [false, true, true]);
	for (let few = 0; few < 8; few++) queue.add(job("b"));
	assert.deepEqual([queue.hasRoom("b"), queue.hasRoom("c")], [false, true]);
	for (let realm = 0; queue.jobs.length < 256; realm++) queue.add(job(`realm ${realm}`));
	assert.deepEqual([queue.hasRoom("c"), queue.hasRoom(CORE)], [false, true]);
});
