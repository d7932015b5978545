import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../errors.ts";
import type { CallerKeys } from "../fair-queue.ts";
import { Budget, type TakenShare } from "./budget.ts";

const LIMITS = { person: 4, account: 16, all: 64, cut_ms: 60_000 };
const refusal = (whose: RegExp) => (error: unknown) =>
	error instanceof AppError &&
	error.code === "overloaded" &&
	error.headers["retry-after"] === "5" &&
	whose.test(error.message);

/** A budget, and the shares cut from it. */
function bench() {
	const budget = new Budget(
		{ ...LIMITS },
		(holder) => new AppError("overloaded", holder, { headers: { "retry-after": "5" } }),
	);
	const cut: string[] = [];
	const take = (person: string | undefined, account: string, bytes: number, name = "") =>
		budget.take({ person, keys: [account] }, bytes, () => cut.push(name));
	let tokens = 0;
	/** Takes shares of 1 under these keys, each by a token of its own, until one is refused. */
	const fill = (...keys: CallerKeys) => {
		const taken: TakenShare[] = [];
		for (;;) {
			try {
				taken.push(budget.take({ person: `token ${++tokens}`, keys }, 1, () => cut.push(keys[0])));
			} catch (error) {
				assert.ok(error instanceof AppError);
				return taken;
			}
		}
	};
	return { budget, cut, take, fill };
}

/** Stops the clock. @returns a function that lets milliseconds pass */
function stopClock(t: TestContext): (ms: number) => void {
	let now = 1_000_000;
	t.mock.method(performance, "now", () => now);
	return (ms) => {
		now += ms;
	};
}

test("a token holds so much, and what it gives back it may take again", () => {
	const { take } = bench();
	const { release } = take("t", "a", 3);
	take("t", "a", 1);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
	release();
	release();
	take("t", "a", 3);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
});

test("an answer whose reader takes little for long is cut for another; a quicker one, and one that is not waited for, are not", (t) => {
	const { budget, cut, take } = bench();
	Object.assign(budget.limits, { cut_ms: 5000, least_rate: 1000 });
	const pass = stopClock(t);
	const shares = ["slow", "quick", "lazy server"].map((name) => take(name, name, 16, name));
	const [slow, quick, lazy] = shares;
	const read = (ms: number, slow_bytes: number) => {
		pass(ms);
		for (const share of shares) share.moved();
		slow?.took(slow_bytes, ms);
		quick?.took(2 * (ms / 1000), ms);
		lazy?.took(0.001, 1);
	};
	read(4999, 1);
	assert.throws(() => take("late", "late", 16), refusal(/all/));
	read(2, 1);
	take("late", "late", 16);
	assert.deepEqual(cut, ["slow"]);
	assert.throws(() => take("later", "later", 16), refusal(/all/));
});

test("a reader that becomes quick again is not cut", (t) => {
	const { budget, cut, take } = bench();
	Object.assign(budget.limits, { cut_ms: 5000, least_rate: 1000 });
	stopClock(t);
	const share = take("slow", "slow", 30, "slow");
	take("other", "other", 20, "other");
	share.took(1, 5000);
	share.took(15, 5000);
	assert.throws(() => take("late", "late", 16), refusal(/all/));
	share.took(14, 5000);
	take("late", "late", 16);
	assert.deepEqual(cut, ["slow"]);
});

test("one answer that is larger than what a token may hold is sent while it holds nothing else", () => {
	const { take } = bench();
	const { release } = take("t", "a", 9);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
	release();
	take("t", "a", 1);
	assert.throws(() => take("t", "a", 9), refusal(/person/));
});

test("an account holds so much, by however many tokens, and so does a source of nobody", () => {
	for (const persons of [["t1", "t2", "t3", "t4"], Array<undefined>(4).fill(undefined)]) {
		const { take } = bench();
		for (const person of persons) take(person, "a", 4);
		assert.throws(() => take(persons[0] && "t5", "a", 1), refusal(/account/));
		take(undefined, "another", 1);
	}
});

test("an account or source takes more only within a quarter of what all others leave free", () => {
	const { budget, take, fill } = bench();
	assert.deepEqual(
		["a", "b", "c", "d"].map((account) => fill(account).length),
		[16, 12, 9, 6],
	);
	assert.deepEqual(budget.used(), { person: 1, account: 16, all: 43 });
	assert.throws(() => take("d7", "d", 1), refusal(/account/));
	assert.throws(() => take("a17", "a", 1), refusal(/account/));
	take("e", "e", 8);
	assert.equal(budget.used().all, 51);
});

test("an account near its part of what others leave free shows as near its limit", () => {
	const { budget, take } = bench();
	for (const account of ["a", "b", "c", "d"]) take(account, account, 9);
	assert.equal(budget.used().account, 16);
	const small = bench();
	for (const account of ["a", "b", "c", "d"]) small.take(account, account, 5);
	assert.equal(small.budget.used().account, Math.round((5 / ((64 - 15) / 4)) * 16));
});

test("holders that renew every share before it is old never keep out one who holds nothing, and nothing is cut", (t) => {
	const pass = stopClock(t);
	for (const [holders, size, from] of [
		[4, 8, 0],
		[16, 4, 10],
		[40, 3, 10],
	] as const) {
		const { cut, take, fill } = bench();
		const accounts = Array.from({ length: holders }, (_, at) => ({ name: `holder ${at}`, taken: [] as TakenShare[] }));
		for (let round = 0; round < 20; round++) {
			for (const { name, taken } of accounts) {
				for (const { release } of taken.splice(0, Math.ceil(taken.length / 2))) release();
				taken.push(...fill(name));
			}
			if (round >= from) take("new", "new", size).release();
			// No share stays for eight rounds.
			pass(LIMITS.cut_ms / 8);
		}
		assert.deepEqual(cut, []);
	}
});

test("answers of a few, however large, leave an eighth to others", () => {
	const { take } = bench();
	take("a", "a", 20);
	take("b", "b", 20);
	assert.throws(() => take("c", "c", 20), refusal(/all/));
	take("c", "c", 16);
	assert.throws(() => take("d", "d", 8), refusal(/all/));
	take("d", "d", 4);
	take("e", "e", 2);
	assert.throws(() => take("f", "f", 2), refusal(/all/));
});

test("one answer that is larger than everything is sent while nobody holds anything", () => {
	const { take } = bench();
	const { release } = take("a", "a", 65);
	assert.throws(() => take("b", "b", 1), refusal(/all/));
	release();
	take("b", "b", 1);
	assert.throws(() => take("a", "a", 65), refusal(/all/));
});

test("a large answer that is read is not cut, however many hold a little and ask for more", (t) => {
	const pass = stopClock(t);
	const { cut, take } = bench();
	const large = take("large", "large", 8, "large");
	for (let round = 0; round < 3; round++) {
		for (let at = 0; at < 55; at++) take(`${round} ${at}`, `${round} ${at}`, 1, `round ${round}`);
		pass(LIMITS.cut_ms - 1);
		large.moved();
		pass(1);
	}
	assert.deepEqual(new Set(cut), new Set(["round 0", "round 1"]));
});

test("one who holds nothing cuts the oldest answer of who holds most, once it has made no progress for a while", (t) => {
	const pass = stopClock(t);
	const { budget, cut, take } = bench();
	for (const [account, bytes] of Object.entries({ a: 8, b: 8, c: 8, d: 16, e: 8, f: 6, g: 4, h: 3 }))
		take(account, account, bytes, account);
	assert.equal(budget.used().all, 61);
	assert.throws(() => take("new", "new", 4), refusal(/all/));
	pass(LIMITS.cut_ms - 1);
	assert.throws(() => take("new", "new", 4), refusal(/all/));
	assert.deepEqual(cut, []);
	pass(1);
	take("new", "new", 4);
	assert.deepEqual(cut, ["d"]);
	assert.deepEqual(budget.refused, { person: 0, account: 0, all: 3 });
});

test("one who holds some cuts nobody who holds less", (t) => {
	const pass = stopClock(t);
	const { cut, take } = bench();
	const { moved } = take("a", "a", 12, "a");
	for (const [account, bytes] of Object.entries({ b: 8, c: 9, d: 8, e: 8 })) take(account, account, bytes, account);
	pass(LIMITS.cut_ms);
	moved();
	assert.throws(() => take("a2", "a", 1), refusal(/account/));
	assert.deepEqual(cut, []);
	take("b2", "b", 1);
	assert.deepEqual(cut, ["c"]);
});

test("a token that is full loses its own oldest answer, nobody else's", () => {
	const { budget, cut, take } = bench();
	take("other", "a", 4, "other");
	take("t", "a", 2, "first");
	take("t", "a", 2, "second");
	budget.limits.cut_ms = 0;
	take("t", "a", 2, "third");
	assert.deepEqual(cut, ["first"]);
});

test("an answer that is refused cuts no other", (t) => {
	const { budget, cut, take } = bench();
	take("t", "a", 4, "old");
	const now = performance.now() + LIMITS.cut_ms;
	t.mock.method(performance, "now", () => now);
	for (const [account, bytes] of Object.entries({ b: 16, c: 16, d: 16, e: 6, f: 3 }))
		take(account, account, bytes, "new");
	assert.throws(() => take("t", "a", 6), refusal(/all/));
	assert.deepEqual([cut, budget.used().all], [[], 61]);
});

test("a machine holds half of what others of its account leave, a realm's machines three quarters, and its owner the rest", () => {
	const { budget, fill } = bench();
	const most = (...inner: string[]) => fill("a", ...inner).length;
	assert.equal(most("shop", "1"), 8);
	assert.equal(budget.used().account, 16, "the limit is shown as reached");
	assert.deepEqual([most("shop", "2"), most("shop", "3"), most("blog", "4"), most("a")], [4, 0, 2, 2]);
});

test("while others hold much, a machine holds half of its account's part, and its owner the rest", () => {
	const { budget, take, fill } = bench();
	for (const account of ["b", "c", "d"]) take(account, account, 16);
	const most = (...inner: string[]) => fill("a", ...inner).length;
	assert.deepEqual([most("shop", "1"), most("shop", "2"), most("a")], [2, 1, 1]);
	assert.equal(budget.used().all, 52);
});
