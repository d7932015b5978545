import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonMember, jsonObject, jsonText, PIECE_CHARS, streamItems } from "./streamed.ts";

const TEXTS: Record<string, string> = {
	nothing: "",
	"control characters": "\u0001".repeat(170_000),
	"pairs at every boundary": "😀".repeat(50_000),
	"pairs at every boundary, one unit later": `x${"😀".repeat(50_000)}`,
	"quotes and backslashes": '"\\\n'.repeat(30_000),
	"lone halves": `${"\ud83d".repeat(16_384)}${"\ude00".repeat(16_384)}`,
};

for (const [what, text] of Object.entries(TEXTS)) {
	test(`a text of ${what} is written as JSON.stringify does, in slices`, () => {
		const slices = [...jsonText(text)];
		assert.equal(slices.join(""), JSON.stringify(text));
		assert.ok(Math.max(...slices.map(({ length }) => length)) <= 6 * 16_384);
		assert.equal([...jsonMember(['a"b', text])].join(""), JSON.stringify({ 'a"b': text }).slice(1, -1));
	});
}

test("a flat object is written as JSON.stringify does", () => {
	for (const object of [{}, { a: 1, b: "x", c: null, d: undefined, e: true }, { d: undefined }])
		assert.equal([...jsonObject(object)].join(""), JSON.stringify(object));
});

test("a list is streamed in pieces, none much longer than 64 Ki characters", async () => {
	const items = Array.from({ length: 40 }, (_, at) => ({ at, text: "\u0001".repeat(at * 1000) }));
	const groups = async function* () {
		for (const item of items) yield [item];
	};
	const { pieces } = streamItems({ before: '{"items":[', groups: groups(), write: jsonObject, after: "]}" });
	const made = (await Array.fromAsync(pieces)) as string[];
	assert.equal(made.join(""), JSON.stringify({ items }));
	assert.ok(made.length > 40);
	assert.ok(Math.max(...made.map(({ length }) => length)) < PIECE_CHARS + 6 * 16_384);
});

test("between two groups others may have their turn, however short what came of the first", async () => {
	let made = 0;
	const groups = async function* () {
		for (; made < 10; made++) yield [made];
	};
	const { pieces } = streamItems({ before: "[", groups: groups(), write: (item) => [String(item)], after: "]" });
	await pieces.next();
	assert.equal(made, 0);
	await pieces.next();
	assert.equal(made, 1);
});

test("a reader that wants no more releases what the groups are made from", async () => {
	let isOpen = true;
	const groups = async function* () {
		try {
			for (;;) yield [1];
		} finally {
			isOpen = false;
		}
	};
	const { pieces } = streamItems({ before: "[", groups: groups(), write: (item) => [String(item)], after: "]" });
	await pieces.next();
	await pieces.return(undefined);
	assert.equal(isOpen, false);
});
