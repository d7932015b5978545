import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { parseJson } from "./input.ts";

const parse = (text: string) => parseJson(Buffer.from(text));
const nested = (levels: number, open = "[", close = "]") => open.repeat(levels) + close.repeat(levels);
const wide = (members: number) => `[${"0,".repeat(members - 1)}0]`;
const names = (count: number) => `{${Array.from({ length: count }, (_, index) => `"n${index}":0`).join()}}`;

const isInvalid = (pattern: RegExp) => (error: unknown) =>
	error instanceof AppError && error.code === "invalid_json" && pattern.test(error.message);

/** Texts that JSON.parse and our parser read alike. */
const ACCEPTED: Record<string, readonly string[]> = {
	values: [
		"null",
		"true",
		"false",
		"0",
		"-0",
		"1.5e+300",
		"1E-2",
		"0e1",
		'""',
		'"a"',
		"[]",
		"{}",
		"123456789012345678901234567890",
	],
	blanks: [" {} ", "\t[\n]\r", '{ "a" : 1 , "b" : [ ] }', '{"a"\n:\t1}', '{"a"\r\n\t :1}', "\n0"],
	objects: [
		'{"a":{"a":{"a":1}}}',
		'{"a":1,"b":{"a":1}}',
		'[{"a":1},{"a":1}]',
		'{"a":{},"b":{}}',
		'{"":0}',
		'{"":0,"a":""}',
	],
	"names that only look alike": [
		'{"a":1,"A":2}',
		'{"a":1,"a ":2}',
		'{"a":1,"\\\\u0061":2}',
		'{"é":1,"e\\u0301":2}',
		'{"\\"":1,"\\\\":2}',
		'{"\\ud800":1,"\\ud801":2}',
		'{"ab":1,"a":2,"b":3}',
		'{"\\/":1,"\\\\/":2}',
	],
	"values that look like names": [
		'{"a":"b","b":"a"}',
		'{"a":"a","b":"a"}',
		'["a","a"]',
		'{"a":["a","a"]}',
		'{"a":"\\"a\\":1","b":2}',
		'{"a":"{\\"a\\":1,\\"a\\":2}"}',
		'{"x":"}{\\"x\\":","y":"]["}',
	],
	escapes: [
		'"\\u0000"',
		'"\\ud83d\\udd11"',
		'"\\ud800"',
		'"\\"\\\\\\/\\b\\f\\n\\r\\t"',
		'"\\\\"',
		'{"a\\\\":1,"a":2}',
		'"\u007f\u2028\u2029"',
	],
	"brackets in strings": [
		`"${"[".repeat(100)}"`,
		'{"a":"]}"}',
		'["\\"[[[["]',
		`{"${"{".repeat(50)}":"${",".repeat(20_000)}"}`,
	],
	"as deep as may be": [nested(32), nested(32, '{"a":', "}").replace('{"a":}', "{}"), `[${nested(31)},${nested(31)}]`],
	"as wide as may be": [wide(10_001), names(10_000)],
	"names of Object": ['{"__proto__":1}', '{"constructor":1,"prototype":2,"hasOwnProperty":3}', '{"__proto__":{"a":1}}'],
};

for (const [what, texts] of Object.entries(ACCEPTED)) {
	test(`JSON is read as JSON.parse reads it: ${what}`, () => {
		for (const text of texts) assert.deepEqual(parse(text), JSON.parse(text), text.slice(0, 80));
	});
}

/** Texts that JSON.parse refuses. */
const MALFORMED: Record<string, readonly string[]> = {
	nothing: ["", " ", "\n\t"],
	"cut off": [
		"{",
		"[",
		'"',
		'"a',
		'"a\\',
		'"a\\"',
		'{"a"',
		'{"a":',
		'{"a":1',
		'{"a":1,',
		"[1",
		"[1,",
		"tru",
		"-",
		"1e",
		"1.",
		'"\\u00',
	],
	"too much": ["{}{}", "[]]", "{}}", "1 2", '""x', "[1]1", "null,", '{"a":1}"'],
	commas: ["[,1]", "[1,,2]", "[1,]", '{"a":1,}', '{,"a":1}', "{,}", "[,]"],
	colons: ['{"a",1}', '{"a" 1}', '{"a"::1}', "{:1}", '["a":1]', '{"a":1:2}', "{1:1}", "{null:1}", "{a:1}"],
	numbers: ["01", "+1", ".5", "0x10", "1_000", "NaN", "Infinity", "-Infinity", "1e+", "--1", "0.", "１", "1f"],
	literals: ["True", "NULL", "undefined", "nul", "truefalse", "none"],
	strings: ["'a'", "`a`", '"\\x41"', '"\\u12"', '"\\uZZZZ"', '"\\a"', '"a\nb"', '"a\tb"', '"a\0b"', "a", '"\\u{41}"'],
	brackets: ["[}", "{]", "]", "}", "][", "[[]", "{{}}", '{"a":[}', "[{]}"],
	comments: ["/**/{}", "{}//a", "#\n{}", '{"a":/*b*/1}', "<!-- {} -->"],
	blanks: ["\u00a0{}", "\ufeff{}", "{}\u2028", "\f{}", "\v[]", "{}\0", "\0{}"],
	"forms that others read": ['("a")', "{}; 1", "=1", "[...[1]]", "1n", '"a" + "b"', "b64:", "{'a':1}", '[1 "a"]'],
};

for (const [what, texts] of Object.entries(MALFORMED)) {
	test(`anything that is not JSON is refused: ${what}`, () => {
		for (const text of texts) {
			assert.throws(() => JSON.parse(text), SyntaxError, text);
			assert.throws(() => parse(text), isInvalid(/^the body /), text);
		}
	});
}

const TWICE = [
	'{"a":1,"a":1}',
	'{"a":1,"b":2,"a":3}',
	'{"a" :1,"a"\t\n\r :2}',
	'{"":1,"":2}',
	'{"a":1,"\\u0061":2}',
	'{"\\u0061":1,"a":2}',
	'{"\\u0061":1,"\\u0061":2}',
	'{"\\u00e9":1,"é":2}',
	'{"\\u00E9":1,"\\u00e9":2}',
	'{"\\/":1,"/":2}',
	'{"\\n":1,"\\u000a":2}',
	'{"\\ud83d\\udd11":1,"🔑":2}',
	'{"\\"":1,"\\u0022":2}',
	'{"\\ud800":1,"\\uD800":2}',
	'{"a\\\\":1,"a\\u005c":2}',
	'{"__proto__":1,"__proto__":2}',
	'{"x":{"a":1,"a":2}}',
	'[0,{"x":[{"a":1,"b":[],"a":2}]}]',
	'{"a":{},"b":[{}],"a":2}',
	'{"a":"}","a":2}',
	'{"a":"\\\\","a":2}',
	'{"a":"\\"","a":2}',
];
for (const text of TWICE) {
	test(`a name that is twice in one object is refused, which JSON.parse lets pass: ${JSON.stringify(text)}`, () => {
		assert.doesNotThrow(() => JSON.parse(text));
		assert.throws(() => parse(text), isInvalid(/\btwice\b/));
	});
}

test("a 33rd level is refused, of lists, of objects and of both, before anything is parsed", () => {
	for (const text of [nested(33), nested(33, '{"a":', "}"), nested(17, '[{"a":', "}]"), "[".repeat(1024 * 1024)]) {
		assert.throws(() => parse(text), isInvalid(/\b32 levels$/));
	}
});

test("more than ten thousand members are refused, in one list, one object or spread over many", () => {
	const spread = `[${Array.from({ length: 101 }, () => wide(100)).join()}]`;
	for (const text of [wide(10_002), names(10_002), spread, `[${",".repeat(1024 * 1024 - 2)}]`]) {
		assert.throws(() => parse(text), isInvalid(/\b10000 members$/));
	}
});

const BAD_UTF8: Record<string, number[]> = {
	"a lone continuation": [0x80],
	"a start without its end": [0xc3],
	"an over-long slash": [0xc0, 0xaf],
	"an over-long zero": [0xe0, 0x80, 0x80],
	"a surrogate": [0xed, 0xa0, 0x80],
	"a pair of surrogates": [0xed, 0xa0, 0xbd, 0xed, 0xb4, 0x91],
	"beyond Unicode": [0xf4, 0x90, 0x80, 0x80],
	"a byte that is never used": [0xff],
	"Latin-1": [0xe9, 0x74],
};
for (const [what, bytes] of Object.entries(BAD_UTF8)) {
	test(`bytes that are no UTF-8 are refused, in a string, a name and outside: ${what}`, () => {
		const bad = Buffer.from(bytes);
		for (const [before, after] of [
			['"', '"'],
			['{"', '":1}'],
			["", "{}"],
			["{}", ""],
		] as const) {
			const body = Buffer.concat([Buffer.from(before), bad, Buffer.from(after)]);
			assert.throws(() => parseJson(body), isInvalid(/\bUTF-8$/));
		}
	});
}

test("other encodings of JSON are refused", () => {
	for (const encoding of ["utf16le", "ucs2"] as const) {
		assert.throws(() => parseJson(Buffer.from('{"a":1}', encoding)), isInvalid(/./));
		assert.throws(() => parseJson(Buffer.from('\ufeff{"a":1}', encoding)), isInvalid(/./));
	}
});

test("no refusal shows what was sent", () => {
	const bodies = [
		'{"CANARY":1,"CANARY":2}',
		'{"a":CANARY}',
		"CANARY",
		'{"CANARY',
		`["CANARY",${"0,".repeat(20_000)}0]`,
	];
	for (const body of bodies) {
		assert.throws(
			() => parse(body),
			(error) =>
				isInvalid(/./)(error) && !JSON.stringify(error).includes("CANARY") && !String(error).includes("CANARY"),
		);
	}
});

test("a member named __proto__ is a member, and nobody's prototype", () => {
	const read = parse('{"__proto__":{"isAdmin":true}}') as object;
	assert.deepEqual(Object.keys(read), ["__proto__"]);
	assert.equal(Object.getPrototypeOf(read), Object.prototype);
	assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
});

test("a megabyte of quotes, backslashes or blanks takes no noticeable time", () => {
	const size = 1_000_000;
	const texts = [
		`"${"\\\\".repeat(size / 2)}"`,
		`"${'\\"'.repeat(size / 2)}"`,
		'"'.repeat(size),
		`{"a"${" ".repeat(size)}`,
	];
	texts.push('"" '.repeat(size / 3), `{${'"a\\\\"'.repeat(size / 5)}`, "\\".repeat(size));
	const cpu = process.threadCpuUsage();
	for (const text of texts) {
		try {
			parse(text);
		} catch (error) {
			assert.ok(isInvalid(/./)(error));
		}
	}
	const { user, system } = process.threadCpuUsage(cpu);
	assert.ok(user + system < 3_000_000, `${user + system} µs`);
});
