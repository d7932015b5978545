import assert from "node:assert/strict";
import { test } from "node:test";
import { createSemaphore } from "../semaphore.ts";
import { checkDatabase, type PageNeeds } from "./database.ts";

/** A database whose examinations end when the test says so. */
function setUp() {
	const begun: PromiseWithResolvers<string[]>[] = [];
	let open = 0;
	let most = 0;
	const needs = {
		oneAtATime: createSemaphore(1).run,
		openDatabase() {
			most = Math.max(most, ++open);
			const check = Promise.withResolvers<string[]>();
			begun.push(check);
			return { inspect: () => check.promise, close: async () => void open-- };
		},
	} as unknown as PageNeeds;
	return { needs, begun, most: () => most };
}

const ENDLESS = new AbortController().signal;

test("however many ask for a check of the database, one runs at a time", async () => {
	const { needs, begun, most } = setUp();
	const checks = Array.from({ length: 10 }, () => checkDatabase(needs, true, ENDLESS));
	for (const [index, check] of checks.entries()) {
		assert.equal(begun.length, index + 1);
		begun[index]?.resolve([]);
		assert.deepEqual(
			(await check).map(({ status }) => status),
			["ok"],
		);
		await new Promise(setImmediate);
	}
	assert.equal(most(), 1);
});

test("a check whose time is over before its turn comes does not run, and the next one does", async () => {
	const { needs, begun } = setUp();
	const impatient = new AbortController();
	const [first, second, third] = [ENDLESS, impatient.signal, ENDLESS].map((signal) =>
		checkDatabase(needs, true, signal),
	);
	impatient.abort();
	begun[0]?.resolve([]);
	await first;
	await assert.rejects(second ?? assert.fail(), { name: "AbortError" });
	await new Promise(setImmediate);
	assert.equal(begun.length, 2);
	begun[1]?.resolve([]);
	await third;
});
