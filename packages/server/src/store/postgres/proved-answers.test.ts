import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cached } from "../../operation.ts";
import type { Marks } from "../row-ledger.ts";
import { createProvedAnswers } from "./proved-answers.ts";

const CACHED: Cached = { in: "secrets", by: 1 };

/** Answers over a database that is a pair of marks and a value. */
function setUp(start: Marks = { access: "a", secrets: "s", configs: "c" }) {
	const database = { marks: start, value: 1 };
	const counts = { proofs: 0, asked: 0 };
	let readMarks = async () => database.marks;
	let ask = async () => ({ answer: { value: database.value }, marks: database.marks });
	const answers = createProvedAnswers(() => {
		counts.proofs++;
		return readMarks();
	});
	const read = answers.remember(CACHED, () => {
		counts.asked++;
		return ask();
	});
	return {
		...{ database, counts, answers },
		read: async (key = "key") => ((await read(key)) as { value: number } | undefined)?.value,
		change(value: number) {
			Object.assign(database, { value, marks: { ...database.marks, secrets: `s${value}` } });
		},
		marking: (next: typeof readMarks) => {
			readMarks = next;
		},
		answering: (next: typeof ask) => {
			ask = next;
		},
	};
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("an answer is asked once, and proved each time", async () => {
	const { read, counts } = setUp();
	for (let count = 1; count <= 3; count++) {
		assert.equal(await read(), 1);
		await turn();
		assert.deepEqual(counts, { proofs: count, asked: 1 });
	}
});

test("an answer whose mark was replaced is forgotten, and one of another cache is not", async () => {
	const { read, counts, change, database } = setUp();
	await read();
	await turn();
	change(2);
	assert.equal(await read(), 2);
	await turn();
	database.marks = { ...database.marks, access: "b", configs: "d" };
	await read();
	assert.equal(counts.asked, 2);
});

test("a mark that comes back after another one proves nothing that was read before", async () => {
	const { read, change, database } = setUp();
	const { marks } = database;
	await read();
	await turn();
	change(2);
	await read();
	await turn();
	Object.assign(database, { marks, value: 3 });
	assert.equal(await read(), 3);
});

test("without a mark nothing is remembered", async () => {
	for (const marks of [{}, { access: "a", configs: "c" }]) {
		const { read, counts } = setUp(marks);
		for (let count = 1; count <= 2; count++) {
			await read();
			await turn();
			assert.equal(counts.asked, count);
		}
	}
});

test("an answer of another state than the proved one serves one question alone", async () => {
	const { read, counts, answering, database } = setUp();
	for (const secrets of ["older", undefined]) {
		const { asked } = counts;
		answering(async () => ({ answer: { value: 5 }, marks: { ...database.marks, secrets } as Marks }));
		assert.equal(await read(), 5);
		await turn();
		answering(async () => ({ answer: { value: 6 }, marks: { ...database.marks, secrets } as Marks }));
		assert.equal(await read(), 6);
		await turn();
		assert.equal(counts.asked, asked + 2);
	}
});

test("questions of one turn share a proof, and what comes while it is under way gets the next one", async () => {
	const { read, counts, change, marking, database } = setUp();
	await read();
	await turn();
	const { promise, resolve } = Promise.withResolvers<Marks>();
	marking(() => promise);
	const early = [read(), read()];
	while (counts.proofs < 2) await turn();
	await turn();
	assert.equal(counts.proofs, 2);
	const old = database.marks;
	change(2);
	const late = read();
	marking(async () => database.marks);
	resolve(old);
	assert.deepEqual(await Promise.all(early), [1, 1]);
	assert.equal(await late, 2);
	assert.equal(counts.proofs, 3);
});

test("a question that follows a proof immediately needs no other one; after any wait it does", async () => {
	const { answers, read, counts } = setUp();
	await answers.prove();
	await read();
	await read();
	assert.equal(counts.proofs, 1);
	await turn();
	await read();
	assert.equal(counts.proofs, 2);
});

test("without a proof nothing is answered, and the next question asks for it again", async () => {
	const { read, marking, database } = setUp();
	await read();
	await turn();
	marking(() => Promise.reject(new Error("away")));
	await assert.rejects(read(), /away/);
	marking(async () => database.marks);
	assert.equal(await read(), 1);
});

test("what is cleared is asked again", async () => {
	const { read, counts, answers } = setUp();
	await read();
	answers.clear();
	await turn();
	await read();
	assert.equal(counts.asked, 2);
});
