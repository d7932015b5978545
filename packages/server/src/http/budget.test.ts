import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { Budget } from "./budget.ts";

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
	return { budget, cut, take };
}

test("a token holds so much, and what it gives back it may take again", () => {
	const { take } = bench();
	const release = take("t", "a", 3);
	take("t", "a", 1);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
	release();
	release();
	take("t", "a", 3);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
});

test("one answer that is larger than what a token may hold is sent while it holds nothing else", () => {
	const { take } = bench();
	const release = take("t", "a", 9);
	assert.throws(() => take("t", "a", 1), refusal(/person/));
	release();
	take("t", "a", 1);
	assert.throws(() => take("t", "a", 9), refusal(/person/));
});

test("an account holds so much, by however many tokens, and so does a source of nobody", () => {
	const { take } = bench();
	for (const token of ["t1", "t2", "t3", "t4"]) take(token, "a", 4);
	assert.throws(() => take("t5", "a", 1), refusal(/account/));
	for (let count = 0; count < 8; count++) take(undefined, "192.0.2.1", 2);
	assert.throws(() => take(undefined, "192.0.2.1", 1), refusal(/account/));
	take(undefined, "192.0.2.2", 1);
});

test("all together hold so much, and one account leaves the rest to the others", () => {
	const { budget, take } = bench();
	for (const account of ["a", "b", "c", "d"]) for (const token of "1234") take(account + token, account, 4);
	assert.deepEqual(budget.used(), { person: 4, account: 16, all: 64 });
	assert.throws(() => take("e1", "e", 1), refusal(/all/));
});

test("the oldest answer of who holds most is cut for a new one, once it is old", () => {
	const { budget, cut, take } = bench();
	for (const account of ["a", "b", "c"]) for (const token of "123") take(account + token, account, 4, account + token);
	for (const token of "1234") take(`d${token}`, "d", 4, `d${token}`);
	take("e1", "e", 4, "e1");
	take("f1", "f", 8, "f1");
	assert.throws(() => take("g1", "g", 4), refusal(/all/));
	assert.deepEqual(cut, []);
	budget.limits.cut_ms = 0;
	take("g1", "g", 4, "g1");
	assert.deepEqual(cut, ["d1"]);
	budget.limits.cut_ms = 60_000;
	assert.throws(() => take("g1", "g", 4), refusal(/person/), "the new one is not old");
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
	for (const account of ["b", "c", "d"]) for (const token of "1234") take(account + token, account, 4, "recent");
	take("e", "e", 12, "recent");
	assert.throws(() => take("t", "a", 6), refusal(/all/));
	assert.deepEqual([cut, budget.used().all], [[], 64]);
});

test("a machine holds half of what others of its account leave, a realm's machines three quarters, and its owner the rest", () => {
	const { budget } = bench();
	const take = (person: string, ...inner: string[]) =>
		budget.take({ person, keys: ["a", ...inner] }, 1, () => undefined);
	const most = (...inner: string[]) => {
		for (let count = 0; ; count++) {
			try {
				// Each by a token of its own.
				take(`${inner} ${count}`, ...inner);
			} catch (error) {
				assert.ok(refusal(/account/)(error));
				return count;
			}
		}
	};
	assert.equal(most("shop", "1"), 8);
	assert.equal(budget.used().account, 16, "the limit is shown as reached");
	assert.deepEqual([most("shop", "2"), most("shop", "3"), most("blog", "4"), most("a")], [4, 0, 2, 2]);
});
