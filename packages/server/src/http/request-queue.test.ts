import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { stays } from "../testing/stays.ts";
import { type QueuedRequest, RequestQueue } from "./request-queue.ts";

const LIMITS = { slots: 4, waiting: 8, late: 3, late_ms: 30, turn_ms: 1000 };

/** Requests that begin in turn, with the order in which they began. */
function bench(given: Partial<typeof LIMITS> = {}) {
	const requests = new RequestQueue({ ...LIMITS, ...given });
	const begun: string[] = [];
	const running: QueuedRequest[] = [];
	const enter = (source: string, count = 1) =>
		Array.from({ length: count }, () =>
			requests.enter(source, (request) => {
				begun.push(source);
				running.push(request);
			}),
		);
	/** Ends the request that began first, and lets the next one begin. */
	const finish = async () => {
		running.shift()?.end();
		await nextTurn();
	};
	return { requests, begun, running, enter, finish };
}

const refusal = (code: string, limit: string) => (error: unknown) =>
	error instanceof AppError &&
	error.code === code &&
	error.message.includes(`(${limit})`) &&
	error.headers["retry-after"] === "1";

test("a source that is alone has every slot, and begins immediately", () => {
	const { requests, begun, enter } = bench();
	enter("a", 6);
	assert.deepEqual(begun, ["a", "a", "a", "a"]);
	assert.deepEqual(requests.count(), { held: 4, waiting: 2, late: 0 });
});

test("a source with many requests gets one of two free slots, and a later source the other", async () => {
	const { begun, enter, finish } = bench();
	enter("flood", 12);
	enter("b", 3);
	begun.length = 0;
	for (let count = 0; count < 7; count++) await finish();
	assert.deepEqual(begun, ["flood", "b", "flood", "b", "flood", "b", "flood"]);
});

test("sources take turns, however many each of them sends", async () => {
	const { begun, enter, finish } = bench({ slots: 1 });
	for (const source of ["a", "a", "a", "b", "c", "c"]) enter(source);
	for (let count = 0; count < 5; count++) await finish();
	assert.deepEqual(begun, ["a", "a", "b", "c", "a", "c"]);
});

test("the lines of one IPv6 site share one turn, and may have as many requests waiting as four sources", async () => {
	const { begun, enter, finish } = bench({ slots: 1 });
	const lineOf = (number: number) => `2001:db8:7:${number}::/64`;
	enter("first");
	for (let number = 0; number < 32; number++) enter(lineOf(number));
	assert.throws(() => enter(lineOf(32)), refusal("rate_limited", "requests_waiting_per_source"));
	enter("other");
	for (let count = 0; count < 3; count++) await finish();
	assert.deepEqual(begun, ["first", lineOf(0), "other", lineOf(1)]);
});

test("the queue takes a limited number of requests from one source, and still those of others", () => {
	const { requests, enter } = bench();
	enter("a", 12);
	assert.throws(() => enter("a"), refusal("rate_limited", "requests_waiting_per_source"));
	enter("b");
	assert.deepEqual([requests.count().waiting, requests.refused.waiting], [8, 1]);
});

test("a request whose client leaves the queue makes room and never begins", async () => {
	const { requests, begun, enter, finish } = bench({ slots: 1 });
	const [, second] = enter("a", 3);
	second?.end();
	assert.equal(requests.count().waiting, 1);
	await finish();
	await finish();
	assert.deepEqual(begun, ["a", "a"]);
	assert.deepEqual(requests.count(), { held: 0, waiting: 0, late: 0 });
});

test("a slot released early goes to the next request, once", async () => {
	const { requests, begun, enter } = bench({ slots: 1 });
	const [first] = enter("a", 3);
	first?.release();
	first?.release();
	await nextTurn();
	first?.end();
	await nextTurn();
	assert.deepEqual(begun, ["a", "a"]);
	assert.deepEqual(requests.count(), { held: 1, waiting: 1, late: 0 });
});

test("a request that reacquires a slot waits behind the others of its source", async () => {
	const { begun, enter, finish, running } = bench({ slots: 1 });
	const [first] = enter("a", 2);
	first?.release();
	running.shift();
	await nextTurn();
	const again = first?.reacquire().then(() => begun.push("again"));
	enter("a");
	assert.deepEqual(begun, ["a", "a"]);
	await finish();
	await again;
	assert.deepEqual(begun, ["a", "a", "again"]);
});

test("a request that ends while it waits to reacquire a slot holds up no other", async () => {
	const { requests, enter } = bench({ slots: 1 });
	const [first] = enter("a", 2);
	first?.release();
	await nextTurn();
	const again = first?.reacquire();
	assert.equal(requests.count().waiting, 1);
	first?.end();
	await again;
	assert.deepEqual(requests.count(), { held: 1, waiting: 0, late: 0 });
});

test("a listener learns that a request is over, even if it already was, unless it has stopped listening", async () => {
	const { enter } = bench();
	const [request] = enter("a");
	const heard: string[] = [];
	request?.onOver(() => heard.push("first"));
	request?.onOver(() => heard.push("second"))();
	request?.end();
	assert.deepEqual(heard, ["first"]);
	request?.onOver(() => heard.push("late"));
	await nextTurn();
	assert.deepEqual(heard, ["first", "late"]);
});

test("a request that holds a slot for long loses it while others wait, up to a limit", async () => {
	const { requests, begun, enter } = bench({ slots: 2 });
	enter("a", 8);
	while (begun.length < 5) await nextTurn();
	assert.deepEqual(requests.count(), { held: 2, waiting: 3, late: 3 });
	await stays("no further one loses its slot", () => begun.length === 5);
	assert.throws(() => enter("b"), refusal("overloaded", "requests_waiting_for_commits"));
	assert.equal(requests.refused.late, 1);
});

test("a request that holds a slot for long keeps it while no other waits", async () => {
	const { requests, enter } = bench();
	enter("a", 4);
	await stays("all keep their slots", () => requests.count().held === 4, 80);
	assert.deepEqual(requests.count(), { held: 4, waiting: 0, late: 0 });
});

test("a request that released its slot during a long commit releases no second slot at its end", async () => {
	const { requests, enter, running } = bench({ slots: 1 });
	enter("a", 4);
	while (running.length < 4) await nextTurn();
	for (const request of running) if (!requests.holds(request)) request.end();
	const { held, late } = requests.count();
	assert.equal(held, 1);
	assert.equal(late, 0);
});

test("requests that take long begin in several turns of the event loop, sources in turn", async () => {
	const requests = new RequestQueue({ ...LIMITS, turn_ms: 4 });
	const begun: [turn: number, source: string][] = [];
	let turn = 0;
	const slow = (source: string) => (entered: QueuedRequest) => {
		begun.push([turn, source]);
		const until = performance.now() + 5;
		while (performance.now() < until);
		entered.end();
	};
	for (const source of ["a", "a", "a", "b"]) requests.enter(source, slow(source));
	for (; turn < 4; turn++) await nextTurn();
	assert.deepEqual(
		begun.map(([, source]) => source),
		["a", "a", "b", "a"],
	);
	assert.deepEqual(new Set(begun.map(([at]) => at)), new Set([0, 1, 2]), "one of them, then one each time round");
	assert.deepEqual(requests.count(), { held: 0, waiting: 0, late: 0 });
});

test("a request that only waits for the next turn of the event loop is not refused; once every slot is taken, all beyond the limit are", async () => {
	const requests = new RequestQueue({ ...LIMITS, slots: 8, turn_ms: 0 });
	const begun: QueuedRequest[] = [];
	const refused: [at: number, error: AppError][] = [];
	const enter = (at: number) =>
		requests.enter(
			"a",
			(request) => begun.push(request),
			(error) => refused.push([at, error]),
		);
	for (let at = 0; at < 4 * LIMITS.waiting; at++) enter(at);
	assert.deepEqual([requests.count().held, requests.refused.waiting], [0, 0]);
	assert.throws(() => enter(-1), refusal("rate_limited", "requests_waiting_per_source"));
	requests.limits.turn_ms = 1000;
	await nextTurn();
	assert.equal(begun.length, 8);
	assert.deepEqual(
		refused.map(([at]) => at),
		Array.from({ length: 16 }, (_, back) => 31 - back),
	);
	for (const [, error] of refused) assert.ok(refusal("rate_limited", "requests_waiting_per_source")(error));
	assert.deepEqual(requests.count(), { held: 8, waiting: 8, late: 0 });
	assert.equal(requests.refused.waiting, 17);
	assert.throws(() => enter(-1), refusal("rate_limited", "requests_waiting_per_source"));
	for (const request of begun) request.end();
	await nextTurn();
	assert.equal(begun.length, 16, "those that waited begin");
});
