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
			const look = Promise.withResolvers<string[]>();
			begun.push(look);
			return { inspect: () => look.promise, close: async () => void open-- };
		},
	} as unknown as PageNeeds;
	return { needs, begun, most: () => most };
}

const ENDLESS = new AbortController().signal;

test("however many look at the database, one look is taken at a time", async () => {
	const { needs, begun, most } = setUp();
	const looks = Array.from({ length: 10 }, () => checkDatabase(needs, true, ENDLESS));
	for (const [index, look] of looks.entries()) {
		assert.equal(begun.length, index + 1);
		begun[index]?.resolve([]);
		assert.deepEqual(
			(await look).map(({ status }) => status),
			["ok"],
		);
		await new Promise(setImmediate);
	}
	assert.equal(most(), 1);
});

test("a look whose time is over before its turn comes is not taken, and the next one is", async () => {
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
