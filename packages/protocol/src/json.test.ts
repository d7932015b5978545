import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonError, parseJson, parseJsonInSteps } from "./json.ts";

const NO_JSON = /\bvalid JSON$/;
const WIDE = /\b10000 members$/;
const MANY = /\b10000 lists and objects$/;

const parse = (text: string) => parseJson(Buffer.from(text));
const says = (reason: RegExp) => (error: unknown) => error instanceof JsonError && reason.test(error.message);

test("what is JSON is read as JSON.parse reads it", () => {
	const texts = [
		...["null", "true", "-0", "1.5e+300", "1E-2", '""', "[]", "{}", " \t\r\n{ } "],
		...['{"a":{"a":1}}', '[{"a":1},{"a":1}]', '{"a":"a","b":"a"}', '{"":0}', '{"__proto__":{"a":1}}'],
		...['"\\u0000\\ud83d\\udd11"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\u007f\u2028"', '{"a\\\\":1,"a":2}'],
		`{"a":"${"[{".repeat(100)}"}`,
		`${"[".repeat(32)}${"]".repeat(32)}`,
		`[${"0,".repeat(10_000)}0]`,
	];
	for (const text of texts) assert.deepEqual(parse(text), JSON.parse(text), text.slice(0, 80));
});

test("anything that is not JSON is refused", () => {
	const texts = [
		...["", " ", "{", "[", '"', '"a\\', '{"a"', '{"a":', '{"a":1', "[1,", "tru", "-", "1e", '"\\u00'],
		...["{}{}", "[]]", "1 2", "[,1]", "[1,,2]", "[1,]", '{"a":1,}', "{,}", '{"a",1}', "{:1}", "{a:1}", "{1:1}"],
		...["01", "+1", ".5", "1.", "0x10", "NaN", "Infinity", "-Infinity", "１", "True", "nul", "undefined"],
		...["'a'", '"\\x41"', '"\\u12"', '"\\a"', '"a\nb"', '"a\tb"', "[}", "{]", "]", "}", "/**/{}", "{}//a", "#"],
		...["\u00a0{}", "\ufeff{}", "{}\u2028", "\f{}", "{}\0", "{'a':1}", "1n"],
	];
	for (const text of texts) {
		assert.throws(() => JSON.parse(text), SyntaxError, text);
		assert.throws(() => parse(text), says(NO_JSON), JSON.stringify(text));
	}
});

test("a name that is twice in one object is refused in every spelling, which JSON.parse lets pass", () => {
	const texts = [
		...['{"a":1,"a":1}', '{"a":1,"b":{"a":1},"a":2}', '{"a" :1,"a"\t:2}', '{"a":1,"\\u0061":2}', '{"\\/":1,"/":2}'],
		...['[0,{"x":[{"a":1,"b":[],"a":2}]}]', '{"a":"\\\\","a":2}', '{"__proto__":1,"__proto__":2}'],
	];
	for (const text of texts) {
		assert.doesNotThrow(() => JSON.parse(text));
		assert.throws(() => parse(text), says(/\bname twice\b/), text);
	}
});

test("too deep and too wide are refused before anything is parsed", () => {
	for (const text of [`${"[".repeat(33)}${"]".repeat(33)}`, `${'{"a":'.repeat(33)}0`, "[".repeat(1024 * 1024)]) {
		assert.throws(() => parse(text), says(/\b32 levels$/));
	}
	assert.throws(() => parse(`[${"0,".repeat(10_001)}0]`), says(WIDE));
});

const SIZE = 950_000;
const fill = (piece: (index: number) => string, open = "{") => {
	const pieces = [open];
	for (let size = 0, index = 0; size < SIZE; index++) size += (pieces[pieces.push(piece(index)) - 1] as string).length;
	return pieces.join("");
};

/** Texts that once made the walk over a megabyte expensive although no parser would accept them, and the refusal that ends each. */
const COSTLY: Record<string, { text: string; reason: RegExp }> = {
	"names with bad escapes": { text: fill((n) => `"\\x${n}":`), reason: NO_JSON },
	"escaped names without values": { text: fill((n) => `"\\n${n}":`), reason: WIDE },
	"names without values": { text: fill((n) => `"${n}":`), reason: WIDE },
	"members without commas": { text: fill((n) => `"k${n}":1`), reason: WIDE },
	"an escaped name in each object": { text: fill(() => '{"\\n":}', "["), reason: MANY },
	"objects without commas": { text: fill(() => "{}", "["), reason: MANY },
	"lists without commas": { text: fill(() => "[]", "["), reason: MANY },
	"strings without commas": { text: fill(() => '""'), reason: NO_JSON },
};

/** Milliseconds of this thread's processor time, in the cheapest of three runs. */
function costOf(run: () => void): number {
	const costs = Array.from({ length: 3 }, () => {
		const before = process.threadCpuUsage();
		run();
		const { user, system } = process.threadCpuUsage(before);
		return (user + system) / 1000;
	});
	return Math.min(...costs);
}

for (const [what, { text, reason }] of Object.entries(COSTLY)) {
	test(`a megabyte that is no JSON costs no more than three of JSON.parse: ${what}`, () => {
		const honest = fill((n) => `"k${n}":${n},`).replace(/,$/, "}");
		const bound = 3 * costOf(() => JSON.parse(honest));
		const cost = costOf(() => assert.throws(() => parse(text), says(reason)));
		assert.ok(cost < bound, `${cost} ms of ${bound} ms`);
	});
}

test("ten thousand of each are read", () => {
	const texts = [
		`[${"[],".repeat(9998)}[]]`,
		`{${Array.from({ length: 10_000 }, (_, index) => `"\\n${index}":{}`).join()}}`.replaceAll(":{}", ":0"),
	];
	for (const text of texts) assert.deepEqual(parse(text), JSON.parse(text));
	assert.throws(() => parse(`[${"[],".repeat(9999)}[]]`), says(MANY));
});

test("bytes that are no UTF-8 are refused", () => {
	for (const bytes of [[0x80], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]]) {
		const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
		assert.throws(() => parseJson(body), says(/\bvalid UTF-8$/));
	}
});

test("a megabyte of quotes, backslashes or blanks takes no noticeable time", () => {
	const size = 1_000_000;
	const texts = [`"${'\\"'.repeat(size / 2)}"`, '"'.repeat(size), `{"a"${" ".repeat(size)}`, '"" '.repeat(size / 3)];
	const cpu = process.threadCpuUsage();
	for (const text of [...texts, `{${'"a\\\\"'.repeat(size / 5)}`, "\\".repeat(size)]) {
		try {
			parse(text);
		} catch (error) {
			assert.ok(error instanceof JsonError);
		}
	}
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok(user + system < 3_000_000, `${user + system} µs`);
});

test("a long text is looked at in many short steps, whatever it is made of", () => {
	const length = 900_000;
	const long = {
		blanks: `{"a"${" ".repeat(length)}:1}`,
		digits: `[${"1".repeat(length)}]`,
		names: `{${Array.from({ length: 9999 }, (_, at) => `"${String(at).padStart(80, "k")}":1`).join()}}`,
	};
	for (const [what, text] of Object.entries(long)) {
		const steps = parseJsonInSteps(Buffer.from(text));
		let count = 0;
		let step = steps.next();
		for (; !step.done; step = steps.next()) count++;
		assert.ok(count > 5, `${what}: ${count} steps`);
		assert.deepEqual(step.value, JSON.parse(text), what);
	}
});
