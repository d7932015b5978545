import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { latestProof, listEvents, verifyLog } from "./audit/audit.ts";
import { eventsPerDay, readsPerDay } from "./audit/days.ts";
import { exportEvents, findKeys } from "./audit/export.ts";
import { createBackupSemaphore } from "./backups/backups.ts";
import { createComparisons, createKeyLists } from "./console/large-pages.ts";
import { createEngineCalls } from "./engines/engines.ts";
import { AppError } from "./errors.ts";
import { listAllLeases, listRealmLeases } from "./leases/leases.ts";
import { listDeletedRealms } from "./realms/deletion.ts";
import { createRewrites } from "./secrets/deletion.ts";
import { createPromotions } from "./secrets/promotion.ts";
import { createWholeReads } from "./secrets/snapshot.ts";
import {
	type AccountSemaphore,
	type Caller,
	createAccountSemaphore,
	createLongQuestions,
	createVerifications,
	keysOf,
} from "./semaphore.ts";
import { DECLARATIONS, type Store } from "./store/store.ts";
import { actorOf } from "./testing/actor.ts";
import { addAccount, addRealm, openTestRules } from "./testing/rules.ts";
import { listTokens } from "./tokens/tokens.ts";

/** Questions that no account asks in long questions' turns: those in the turns of whole reads, the server's own, its doctor's, and the instance admin's. */
const OTHERS = [
	...["secrets.currentVersions", "secrets.pairs", "secrets.keySet", "secrets.count"],
	...["secrets.deleted", "secrets.countDeleted"],
	...["secrets.countExpiring", "leases.openByConfig", "leases.openByRealm", "realms.fullest", "realms.unended"],
	...["factors.passkeyHosts", "revocations.made", "keys.countOfRealms"],
];

test("each question that may read many rows is asked in a turn of its account", async (t) => {
	const rules = await openTestRules(t);
	const payers = new AsyncLocalStorage<string>();
	const asked = new Set<string>();
	const store = Object.fromEntries(
		Object.entries(rules.store).map(([noun, verbs]) => [
			noun,
			typeof verbs === "function"
				? verbs
				: Object.fromEntries(
						Object.entries(Object(verbs) as Record<string, (...args: unknown[]) => unknown>).map(([verb, run]) => [
							verb,
							(...args: unknown[]) => {
								const name = `${noun}.${verb}`;
								if (DECLARATIONS.get(name)?.kind === "scan") asked.add(`${name} for ${payers.getStore()}`);
								return run(...args);
							},
						]),
					),
		]),
	) as unknown as Store;
	const long_questions = {
		run: <T>(ask: () => Promise<T>, { payer }: Caller) => payers.run(payer, ask),
	};
	const needs = {
		...rules,
		store,
		long_questions,
		verifications: long_questions,
		hasRole: () => true,
		realms_per_account: 1,
	};
	const account = await addAccount(rules.store);
	const { slug } = await addRealm(rules.store, account);
	const actor = () => actorOf(account, { instance_admin: true, payer: "payer" });
	const token = { ...actor(), token_id: "t", jti: undefined, expires_at: "2031-01-01T00:00:00.000Z" };
	const page = { limit: 1, include_total: "true" } as const;
	await listEvents(needs, actor(), {}, page);
	await latestProof(needs, actor());
	await verifyLog(needs, actor(), undefined);
	await exportEvents(needs, actor(), {}, page);
	await assert.rejects(findKeys(needs, actor(), slug, "0".repeat(64)), AppError);
	await eventsPerDay(needs, actor(), slug);
	await readsPerDay(needs, actor(), { slug, key: "KEY", environment: "dev" });
	await listRealmLeases(needs, actor(), slug, page);
	await listAllLeases(needs, actor(), page);
	await listTokens(needs, token, page);
	await listDeletedRealms(needs, actor(), page);
	const scans = [...DECLARATIONS].flatMap(([name, { kind }]) => (kind === "scan" ? [name] : []));
	const long = scans.filter((name) => !OTHERS.includes(name));
	assert.deepEqual(asked, new Set(long.map((name) => `${name} for payer`)));
});

/** Makes a caller of a person's name, of `payer/realm/machine`, or of `payer/realm/#token`. */
function callerOf(name: string): Caller {
	const [payer = "", realm = "", id] = name.split("/");
	const person = { payer, user_id: payer, realm_id: null, environment: null, engines: null };
	if (id === undefined) return { ...person, token_id: undefined, machine: undefined };
	const limited = realm === "" ? { ...person, environment: "dev" } : { ...person, realm_id: realm };
	const isToken = id.startsWith("#");
	return { ...limited, token_id: id, ...(isToken ? { machine: undefined } : { user_id: id, machine: {} }) };
}

/** Long questions that end on command. */
function bench(semaphore = createLongQuestions()) {
	const begun: string[] = [];
	const ends: Record<string, () => void> = {};
	const ask = (caller: string, name: string) =>
		semaphore.run(() => {
			begun.push(name);
			return new Promise<void>((resolve) => {
				ends[name] = resolve;
			});
		}, callerOf(caller));
	const end = async (name: string) => {
		ends[name]?.();
		await nextTurn();
	};
	return { semaphore, begun, ask, end };
}

test("an account has one long question in work, all together have two, and accounts take turns", async () => {
	const { begun, ask, end } = bench();
	const all = [ask("ada", "a1"), ask("ada", "a2"), ask("ada", "a3"), ask("bob", "b1"), ask("cyd", "c1")];
	await nextTurn();
	assert.deepEqual(begun, ["a1", "b1"]);
	await end("a1");
	assert.deepEqual(begun, ["a1", "b1", "a2"]);
	await end("b1");
	assert.deepEqual(begun, ["a1", "b1", "a2", "c1"]);
	for (const name of ["a2", "c1", "a3"]) await end(name);
	await Promise.all(all);
});

test("beyond 64 waiting long questions an account is refused under the limit's name, and others are not", async () => {
	const { semaphore, begun, ask, end } = bench();
	const all = Array.from({ length: 65 }, (_, at) => ask("ada", `a${at}`));
	await assert.rejects(ask("ada", "more"), (error) => {
		assert.ok(error instanceof AppError);
		assert.match(error.message, /^64 .*\(long_questions_waiting_per_account\)/);
		assert.deepEqual([error.code, error.headers["retry-after"]], ["rate_limited", "1"]);
		return true;
	});
	assert.deepEqual([semaphore.limit.used(), semaphore.limit.refused?.()], [64, 1]);
	all.push(ask("bob", "b"));
	await nextTurn();
	assert.deepEqual(begun, ["a0", "b"]);
	await end("b");
	for (let at = 0; at < 65; at++) await end(`a${at}`);
	await Promise.all(all);
});

test("a machine's waiting questions leave room for its account, for other realms and for the realm's other machines", async () => {
	const { semaphore, begun, ask, end } = bench();
	const isRefused = (error: unknown) => error instanceof AppError && error.code === "rate_limited";
	const flood = Array.from({ length: 33 }, (_, at) => ask("ada/shop/bot", `bot${at}`));
	assert.equal(semaphore.limit.used(), 64, "the limit is shown as reached");
	await assert.rejects(ask("ada/shop/bot", "more"), isRefused, "half of the 64 places");
	const others = Array.from({ length: 16 }, (_, at) => ask("ada/shop/other", `other${at}`));
	await assert.rejects(ask("ada/shop/other", "more"), isRefused, "half of what is left");
	await assert.rejects(ask("ada/shop/third", "more"), isRefused, "three quarters are the realm's");
	const rest = [ask("ada", "own"), ask("ada/blog/bot", "blog")];
	for (const name of ["bot0", "bot1", "own", "blog"]) await end(name);
	assert.deepEqual(begun, ["bot0", "bot1", "own", "blog", "other0"]);
	rest.push(...Array.from({ length: 18 }, (_, at) => ask("ada", `own${at}`)));
	assert.equal(semaphore.limit.used(), 64);
	await assert.rejects(ask("ada", "more"), isRefused);
	for (let at = 0; at < begun.length; at++) await end(begun[at] ?? "");
	await Promise.all([...flood, ...others, ...rest]);
});

test("two accounts never share a quota, not even in the same realm or environment", () => {
	for (const reach of ["shop", ""]) {
		const keys = ["ada", "bob"].map((payer) => keysOf(callerOf(`${payer}/${reach}/#${payer}`)));
		assert.equal(new Set(keys.flat()).size, 6);
	}
});

for (const [limit, reach] of [
	["a realm", "ada/shop"],
	["an environment", "ada/"],
] as const)
	test(`the waiting questions of a token limited to ${limit} leave room for others of its account`, async () => {
		const { begun, ask, end } = bench();
		const flood = Array.from({ length: 33 }, (_, at) => ask(`${reach}/#dev`, `dev${at}`));
		await assert.rejects(ask(`${reach}/#dev`, "more"), { code: "rate_limited" });
		const rest = [ask("ada", "own"), ask(`${reach}/#prod`, "prod")];
		for (const name of ["dev0", "dev1", "own"]) await end(name);
		assert.deepEqual(begun, ["dev0", "dev1", "own", "prod"]);
		for (let at = 0; at < begun.length; at++) await end(begun[at] ?? "");
		await Promise.all([...flood, ...rest]);
	});

test("one verification of the log is in work, accounts take turns, and beyond 16 waiting ones an account is refused under the limit's name", async () => {
	const { begun, ask, end } = bench(createVerifications());
	const all = Array.from({ length: 17 }, (_, at) => ask("ada", `a${at}`));
	await assert.rejects(ask("ada", "more"), (error) => {
		assert.ok(error instanceof AppError);
		assert.match(error.message, /\(verifications_waiting_per_account\)/);
		assert.equal(error.code, "rate_limited");
		return true;
	});
	all.push(ask("bob", "b"));
	await nextTurn();
	assert.deepEqual(begun, ["a0"]);
	for (const name of ["a0", "a1", "b"]) await end(name);
	assert.deepEqual(begun.slice(0, 4), ["a0", "a1", "b", "a2"]);
	for (let at = 2; at < 17; at++) await end(`a${at}`);
	await Promise.all(all);
});

/** The semaphore that each limit on an account's waiting work is of. */
const LIMITS: Record<string, () => AccountSemaphore> = {
	backups_waiting_per_account: createBackupSemaphore,
	comparisons_waiting_per_account: createComparisons,
	engine_calls_waiting_per_account: createEngineCalls,
	key_lists_waiting_per_account: createKeyLists,
	long_questions_waiting_per_account: createLongQuestions,
	promotions_waiting_per_account: createPromotions,
	rewrites_waiting_per_account: createRewrites,
	verifications_waiting_per_account: createVerifications,
	whole_reads_waiting_per_account: createWholeReads,
};

for (const [name, create] of Object.entries(LIMITS))
	test(`the limit ${name} refuses by name, once it is reached`, async () => {
		const { limit, run } = create();
		const { promise: ended, resolve: end } = Promise.withResolvers<void>();
		const all: Promise<void>[] = [];
		while ((await limit.used()) < limit.max) all.push(run(() => ended, callerOf("ada")));
		await assert.rejects(
			run(() => ended, callerOf("ada")),
			({ code, message }: AppError) => code === "rate_limited" && message.includes(`(${name})`),
		);
		assert.deepEqual([limit.name, limit.refused?.()], [name, 1]);
		all.push(run(() => ended, callerOf("bob")));
		end();
		await Promise.all(all);
	});

test("a turn that rests is kept for as long again as its task took, and the answer does not wait for that", async () => {
	const bounds = { each: 1, all: 1, waiting: 1, rests: true };
	const { run } = createAccountSemaphore({ name: "tests_waiting_per_account", what: "tests", hint: "", ...bounds });
	const began: number[] = [];
	const ended: number[] = [];
	const task = async () => {
		began.push(performance.now());
		for (const until = performance.now() + 30; performance.now() < until; );
		ended.push(performance.now());
	};
	const first = run(task, callerOf("ada")).then(() => assert.equal(began.length, 1));
	await Promise.all([first, run(task, callerOf("bob"))]);
	// A timer counts whole milliseconds.
	assert.ok((began[1] ?? 0) - (ended[0] ?? 0) >= 28);
});
