import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { AppError } from "../errors.ts";
import { createPasswordQueue, type Requester } from "./password-queue.ts";

/** A queue whose checks end when the test says so, in the order they began. */
function setUp(all = 2, strangers = all) {
	const queue = createPasswordQueue({ all, strangers }, async () => undefined);
	const began: string[] = [];
	const ends: (() => void)[] = [];
	const refused: Record<string, AppError> = {};
	const ask = (name: string, requester: Requester) => {
		const check = () => {
			began.push(name);
			return new Promise<void>((resolve) => ends.push(resolve));
		};
		queue.run(requester, check).catch((error: AppError) => {
			refused[name] = error;
		});
	};
	/** Ends the oldest running check, this many times; answers which checks began as a result. */
	const next = async (times = 1): Promise<string[]> => {
		await turn();
		const before = began.length;
		for (let count = 0; count < times; count++) {
			ends.shift()?.();
			await turn();
		}
		return began.slice(before);
	};
	const used = (name: string) => queue.limits.find((limit) => limit.name === name)?.used();
	return { queue, ask, next, began, refused, used };
}

const stranger = (source: string): Requester => ({ source });
const owner = (known: string, source: string): Requester => ({ source, known, pair: `${known} ${source}` });

/** Asserts a refusal with this status, which names the limit. */
function isRefused(error: AppError | undefined, status: number, limit: RegExp): void {
	assert.equal(error?.status, status);
	assert.match(error.message, limit);
	assert.equal(error.headers["retry-after"], "1");
}

test("two run at once, and those that wait of one source in the order they came", async () => {
	const { ask, next, began } = setUp();
	for (let count = 0; count < 6; count++) ask(String(count), stranger("a"));
	await turn();
	assert.deepEqual(began, ["0", "1"]);
	assert.deepEqual(await next(3), ["2", "3", "4"]);
	assert.deepEqual(await next(3), ["5"]);
});

test("four of one source wait, a fifth is refused, and other sources are not", async () => {
	const { ask, refused, next, used } = setUp();
	for (let count = 0; count < 80; count++) ask(`flood ${count}`, stranger("a"));
	ask("other", stranger("b"));
	await turn();
	assert.equal(Object.keys(refused).length, 74);
	isRefused(refused["flood 6"], 429, /^4 .*\bfrom here\b.*\(password_checks_waiting_per_source\)/);
	assert.equal(used("password_checks_waiting_per_source"), 4);
	assert.deepEqual(await next(3), ["flood 2", "other", "flood 3"]);
});

test("while many strangers wait, the last place is for the known", async () => {
	const { ask, next, began } = setUp(2, 1);
	for (let count = 0; count < 8; count++) ask(`s${count}`, stranger(`${count}`));
	await turn();
	assert.deepEqual(began, ["s0", "s1"], "nobody waited when they came");
	assert.deepEqual(await next(1), [], "six wait, and one runs");
	ask("ada", owner("ada", "home"));
	await turn();
	assert.equal(began.at(-1), "ada", "the place is free for an owner");
	assert.deepEqual(await next(1), ["s2"], "a stranger's end lets the next one begin");
	assert.deepEqual(await next(1), [], "ada has ended, and five wait");
	assert.deepEqual(await next(1), ["s3", "s4"], "four wait: both places are for anybody");
	assert.deepEqual(await next(4), ["s5", "s6", "s7"]);
	ask("late", stranger("late"));
	await turn();
	assert.equal(began.at(-1), "late", "no place was lost");
});

test("strangers' sources take turns, however many of each wait", async () => {
	const { ask, next } = setUp(1);
	for (const source of ["a", "b", "c"]) for (const n of [1, 2, 3]) ask(`${source}${n}`, stranger(source));
	assert.deepEqual(await next(9), ["a2", "b1", "c1", "a3", "b2", "c2", "b3", "c3"]);
});

test("sixteen of one IPv6 /48 wait, and its /64s share one turn", async () => {
	const { ask, next, refused } = setUp(1);
	ask("runs", stranger("192.0.2.1"));
	for (let net = 0; net < 20; net++) ask(`six ${net}`, stranger(`2001:db8:1:${net}::/64`));
	ask("four", stranger("192.0.2.2"));
	ask("four again", stranger("192.0.2.2"));
	await turn();
	assert.deepEqual(Object.keys(refused), ["six 16", "six 17", "six 18", "six 19"]);
	isRefused(refused["six 16"], 429, /^16 .*\bfrom here\b.*\(password_checks_waiting_per_site\)/);
	assert.deepEqual(await next(4), ["six 0", "four", "six 1", "four again"]);
});

test("1,024 strangers wait, further ones get 503, and the known are not refused", async () => {
	const { ask, refused, used, next } = setUp();
	for (let source = 0; source < 400; source++)
		for (let count = 0; count < 3; count++) ask(`${source} ${count}`, stranger(`s${source}`));
	await turn();
	assert.equal(used("password_checks_waiting"), 1024);
	isRefused(refused["399 2"], 503, /^1024 .*\bfrom elsewhere\b.*\(password_checks_waiting\)/);
	ask("owner", owner("ada", "home"));
	assert.deepEqual(await next(1), ["owner"]);
});

test("three turns of four are for the known while any waits, and the fourth for a stranger", async () => {
	const { ask, next } = setUp(1);
	ask("runs", stranger("x"));
	for (let count = 0; count < 4; count++) ask(`s${count}`, stranger("x"));
	for (const known of ["ada", "bob"]) for (const n of [1, 2, 3, 4]) ask(`${known}${n}`, owner(known, known));
	assert.deepEqual(await next(12), "ada1 bob1 ada2 s0 bob2 ada3 bob3 s1 ada4 bob4 s2 s3".split(" "));
});

test("the known are served in turn by source, and of a source by account", async () => {
	const { ask, next } = setUp(1);
	ask("runs", stranger("x"));
	for (let account = 0; account < 5; account++) ask(`own ${account}`, owner(`own ${account}`, "flood"));
	ask("own 0 again", owner("own 0", "flood"));
	ask("ada", owner("ada", "home"));
	assert.deepEqual(await next(7), ["own 0", "ada", "own 1", "own 2", "own 3", "own 4", "own 0 again"]);
});

test("four of one account wait where it is known, its fifth is refused, and no other account is", async () => {
	const { ask, refused, used } = setUp(1);
	ask("runs", stranger("x"));
	for (let count = 0; count < 5; count++) ask(`ada ${count}`, owner("ada", `s${count % 2}`));
	ask("bob", owner("bob", "s0"));
	ask("stranger", stranger("s0"));
	await turn();
	assert.deepEqual(Object.keys(refused), ["ada 4"]);
	isRefused(refused["ada 4"], 429, /^4 .*\bof this account\b.*\(password_checks_waiting_per_account\)/);
	assert.equal(used("password_checks_waiting_per_account"), 4);
});

test("checks of one account from one source run one after the other, and hold up no others", async () => {
	const { ask, next, began } = setUp();
	const pair = (name: string) => ask(name, { source: "a", pair: "ada a" });
	for (const name of ["1", "2", "3"]) pair(name);
	ask("other", { source: "a", pair: "bob a" });
	await turn();
	assert.deepEqual(began, ["1", "other"]);
	assert.deepEqual(await next(1), ["2"]);
	assert.deepEqual(await next(1), [], "the other's slot is free, and there is nobody else");
	assert.deepEqual(await next(1), ["3"]);
});

test("a check that fails gives up its slot, and nothing is left when all have ended", async () => {
	const { queue, used } = setUp(1);
	const failing = () => Promise.reject(new Error("failed"));
	const outcomes = await Promise.allSettled(
		["a", "a", "b"].map((source) => queue.run({ source, pair: source }, failing)),
	);
	assert.deepEqual(
		outcomes.map(({ status }) => status),
		["rejected", "rejected", "rejected"],
	);
	assert.equal(await queue.run(stranger("a"), async () => "free"), "free");
	assert.equal(used("password_checks_waiting"), 0);
});

test("a refusal takes as long as its Retry-After says, so that a flood of them costs nobody else's time", async () => {
	const queue = createPasswordQueue({ all: 0 });
	for (let count = 0; count < 4; count++) void queue.run(stranger("a"), async () => undefined);
	const started = performance.now();
	const refused = await queue.run(stranger("a"), async () => undefined).catch((error: AppError) => error);
	isRefused(refused ?? undefined, 429, /^4 .*\bfrom here\b/);
	const tookMs = performance.now() - started;
	assert.ok(tookMs > 990, `it took ${tookMs} ms`);
});
