import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { parseJson } from "./input.ts";

const DOCUMENTS = 3000;

/** Numbers from 0 to 1 that are the same in every run. */
function seeded(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

const PIECES = [
	"a",
	"b",
	"é",
	"🔑",
	'"',
	"\\",
	"/",
	"\n",
	"\u0000",
	"\ud800",
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	" ",
	"__proto__",
];
const BLANKS = ["", "", "", " ", "\n", "\t\r "];

/** Writes random JSON: every kind of value, and names and strings with needless escapes. */
function writer(random: () => number) {
	const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
	const blank = () => pick(BLANKS);
	const text = () => Array.from({ length: Math.floor(random() * 6) }, () => pick(PIECES)).join("");
	/** One of the ways to write a string. */
	const quote = (value: string): string => {
		const units = Array.from({ length: value.length }, (_, index) => value.charCodeAt(index));
		const spelled = units.map((unit, index) => {
			const mustEscape = unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit < 0xe000);
			if (!mustEscape && random() < 0.7) return value.charAt(index);
			const hex = unit.toString(16).padStart(4, "0");
			return `\\u${random() < 0.5 ? hex : hex.toUpperCase()}`;
		});
		return random() < 0.5 ? `"${spelled.join("")}"` : JSON.stringify(value);
	};
	const number = () => pick(["0", "-0", "1", "-12.5", "1e3", "2E-2", String(Math.floor(random() * 1e15))]);
	const object = (depth: number, extra: string[]): string => {
		const keys = new Set(Array.from({ length: Math.floor(random() * 5) }, text));
		const members = [...keys].map((key) => `${blank()}${quote(key)}${blank()}:${value(depth + 1)}`);
		return `{${[...members, ...extra].join(",") || blank()}}`;
	};
	const value = (depth: number): string => {
		const kind = random();
		const isLeaf = depth > 6 || kind < 0.4;
		const leaf = () => pick([() => quote(text()), number, () => pick(["true", "false", "null"])])();
		const list = () =>
			`[${Array.from({ length: Math.floor(random() * 5) }, () => value(depth + 1)).join() || blank()}]`;
		return `${blank()}${isLeaf ? leaf() : kind < 0.7 ? object(depth, []) : list()}${blank()}`;
	};
	/** An object with one name twice, in any two spellings. */
	const doubled = (): string => {
		const name = `twice${text()}`;
		const member = () => `${blank()}${quote(name)}${blank()}:${value(4)}`;
		return object(1, [member(), `${blank()}${quote("between")}:0`, member()]);
	};
	return { value, doubled, pick };
}

const isInvalid = (error: unknown) => error instanceof AppError && error.code === "invalid_json";

test("random documents are read as JSON.parse reads them", () => {
	const { value } = writer(seeded(1));
	for (let count = 0; count < DOCUMENTS; count++) {
		const text = value(0);
		assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text), text);
	}
});

test("random documents with one name twice somewhere are refused", () => {
	const { value, doubled, pick } = writer(seeded(2));
	for (let count = 0; count < DOCUMENTS; count++) {
		const inner = doubled();
		const text = pick([inner, `[${value(2)},${inner}]`, `{"outer":${inner}}`, `[[[${inner}]],${value(3)}]`]);
		assert.doesNotThrow(() => JSON.parse(text), text);
		assert.throws(() => parseJson(Buffer.from(text)), /name twice/, text);
	}
});

test("random documents with random damage are refused as invalid, or read as JSON.parse reads them", () => {
	const random = seeded(3);
	const { value, pick } = writer(random);
	let refused = 0;
	for (let count = 0; count < DOCUMENTS; count++) {
		const bytes = Buffer.from(value(0));
		for (let hits = 1 + Math.floor(random() * 3); hits > 0; hits--) {
			bytes[Math.floor(random() * bytes.length)] = pick([
				0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a, 0x30, 0xff, 0,
			]);
		}
		try {
			assert.deepEqual(parseJson(bytes), JSON.parse(bytes.toString()));
		} catch (error) {
			assert.ok(isInvalid(error), bytes.toString());
			refused++;
		}
	}
	assert.ok(refused > DOCUMENTS / 4 && refused < DOCUMENTS);
});
