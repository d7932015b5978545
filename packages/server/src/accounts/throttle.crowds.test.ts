/* Exact counts of failures, and whom they count against, when many fail at once and some of them are known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { createTestThrottle } from "../testing/throttle.ts";
import type { Requester } from "./password-queue.ts";

const ADA = "ada@example.com";
const BOB = "bob@example.com";
const HERE = "192.0.2.1";
const ELSEWHERE = "198.51.100.7";

/** A throttle whose clock and known pairs the test sets; its queue records who came to it. */
function setUp() {
	const pairs = new Set<string>();
	let now = 0;
	const requesters: Requester[] = [];
	const queue = {
		run: <T>(requester: Requester, check: () => Promise<T>) => {
			requesters.push(requester);
			return check();
		},
	};
	const knows = async (account: string, source: string) => pairs.has(`${account} ${source}`);
	const throttle = createTestThrottle(
		{ knows },
		() => now,
		async () => undefined,
	);
	const know = (account: string, source: string) => void pairs.add(`${account} ${source}`);
	const pass = (seconds: number) => {
		now += seconds * 1000;
	};
	/** Seconds that an attempt with the right password has to wait. */
	const waitOf = async (account = ADA, ip = HERE) => {
		try {
			await throttle.attempt(queue, account, ip, async () => undefined);
			return 0;
		} catch (error) {
			assert.ok(error instanceof AppError && error.code === "rate_limited", String(error));
			return Number(error.headers["retry-after"]);
		}
	};
	/** Makes guesses that are all admitted before the first has failed. */
	const fail = async (times: number, account = (_: number) => ADA, ip = (_: number) => HERE) => {
		const begun = Promise.withResolvers<void>();
		const guesses = Array.from({ length: times }, (_, at) =>
			throttle.attempt(queue, account(at), ip(at), async (failed) => {
				await begun.promise;
				await failed();
			}),
		);
		setImmediate(begun.resolve);
		await Promise.all(guesses);
	};
	return { requesters, know, pass, waitOf, fail };
}

const anAddress = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
const anAccount = (at: number) => `user-${at}`;

test("a caller that must wait is refused before it can take another's place in the queue", async () => {
	const { requesters, waitOf, fail } = setUp();
	await fail(5);
	requesters.length = 0;
	assert.equal(await waitOf(), 1);
	assert.deepEqual(requesters, []);
});

test("what failed while an account was a stranger does not count where it is known from then on", async () => {
	const { know, waitOf, fail } = setUp();
	await fail(40);
	assert.equal(await waitOf(), 900);
	know(ADA, HERE);
	assert.equal(await waitOf(), 0);
	await fail(4);
	assert.equal(await waitOf(), 0);
	await fail(1);
	assert.equal(await waitOf(), 1);
});

test("failures where an account is known count neither for others that are known there, nor where else it is known", async () => {
	const { requesters, know, waitOf, fail } = setUp();
	for (const [account, source] of [
		[ADA, HERE],
		[BOB, HERE],
		[ADA, ELSEWHERE],
	] as const)
		know(account, source);
	await fail(300);
	assert.equal(await waitOf(), 900);
	requesters.length = 0;
	assert.deepEqual([await waitOf(BOB), await waitOf(ADA, ELSEWHERE)], [0, 0]);
	assert.equal(new Set(requesters.map(({ known }) => known)).size, 2, "in the queue they are two accounts");
});

test("where an account is known its failures are forgotten a quarter of an hour after the first of them, too", async () => {
	const { know, pass, waitOf, fail } = setUp();
	know(ADA, HERE);
	await fail(4);
	pass(899);
	await fail(1);
	assert.equal(await waitOf(), 1);
	pass(1);
	await fail(4);
	assert.equal(await waitOf(), 0);
});

test("an account is known in the whole /64 of an IPv6 address, and not in the next", async () => {
	const { know, waitOf, fail } = setUp();
	know(ADA, "2001:db8:0:1::/64");
	await fail(100, undefined, anAddress);
	assert.deepEqual([await waitOf(ADA, "2001:db8:0:1::9"), await waitOf(ADA, "2001:db8:0:2::9")], [0, 5]);
});

test("the hundredth failure on an account makes strangers wait, and that of a source doubles with every ten beyond fifty", async () => {
	const { pass, waitOf, fail } = setUp();
	await fail(99, undefined, anAddress);
	assert.equal(await waitOf(ADA, ELSEWHERE), 0);
	await fail(1, undefined, () => "203.0.113.1");
	assert.equal(await waitOf(ADA, ELSEWHERE), 5);
	pass(5);
	await fail(59, anAccount);
	assert.equal(await waitOf(BOB), 1);
	pass(1);
	await fail(1, anAccount);
	assert.equal(await waitOf(BOB), 2);
	pass(0.5);
	assert.equal(await waitOf(BOB), 2, "seconds that have begun are whole");
});

test("failures are remembered among those of 20,000 strangers, and the oldest are forgotten among those of 50,000", async () => {
	for (const [strangers, wait] of [
		[20_000, 1],
		[50_000, 0],
	] as const) {
		const { waitOf, fail } = setUp();
		await fail(4);
		await fail(strangers, anAccount, anAddress);
		await fail(1);
		assert.equal(await waitOf(), wait);
	}
});

test("of a name that is as long as a request may be little is kept, and it is still another name than the next", async () => {
	const { requesters, waitOf } = setUp();
	const long = "a".repeat(100_000);
	for (const name of [long, `${long}b`]) await waitOf(name);
	const pairs = requesters.map(({ pair = "" }) => pair);
	assert.equal(new Set(pairs).size, 2);
	assert.ok(pairs.every((pair) => pair.length < 100));
});
