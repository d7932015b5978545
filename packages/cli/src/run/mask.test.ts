import assert from "node:assert/strict";
import test from "node:test";
import { createMasker, formsOf, OUTPUT_MASK } from "./mask.ts";

/** Output of a masker that receives these pieces. */
function masked(values: readonly string[], chunks: readonly (string | Buffer)[]): string {
	const masker = createMasker(values);
	const out = [...chunks.map((chunk) => masker.push(Buffer.from(chunk))), masker.end()];
	return Buffer.concat(out).toString("latin1");
}

test("a value is masked wherever it is, and nothing else", () => {
	assert.equal(
		masked(["hunter22"], ["a hunter22, xhunter22y hunter2 Hunter22"]),
		`a ${OUTPUT_MASK}, x${OUTPUT_MASK}y hunter2 Hunter22`,
	);
	assert.equal(masked(["hunter22"], ["hunter22hunter22"]), OUTPUT_MASK + OUTPUT_MASK);
	assert.equal(masked([], ["anything"]), "anything");
});

test("a short value is left alone, and a value of several lines is masked line by line, too", () => {
	assert.equal(masked(["12345", "  prod \n"], ["12345 prod"]), "12345 prod");
	const key = "first line of a key\n  second line\nshort";
	assert.equal(masked([key], [`${key}|`]), `${OUTPUT_MASK}|`);
	assert.equal(
		masked([key], ["> first line of a key\n> second line\n> short\n"]),
		`> ${OUTPUT_MASK}\n> second line\n> short\n`,
	);
});

test("values that overlap, contain or continue each other are covered as a whole", () => {
	assert.equal(masked(["abcdefgh", "efghijkl"], ["<abcdefghijkl>"]), `<${OUTPUT_MASK}>`);
	assert.equal(
		masked(["abcdefgh", "abcdefghijkl"], ["<abcdefghijkl><abcdefgh><abcdefghij>"]),
		`<${OUTPUT_MASK}><${OUTPUT_MASK}><${OUTPUT_MASK}ij>`,
	);
	assert.equal(masked(["aaaaaa"], ["aaaaaaaab"]), `${OUTPUT_MASK}b`);
});

test("a value is known in JSON, in an address and in Base64 at any place", () => {
	const value = 'p"ss/wörd+\\ 1\nx?~~~';
	for (const text of [
		JSON.stringify({ value }),
		`postgres://u:${encodeURIComponent(value)}@h`,
		String(new URLSearchParams({ a: encodeURIComponent("x"), value })),
	]) {
		assert.ok(masked([value], [text]).includes(OUTPUT_MASK), text);
	}
	for (const before of ["", "u", "u:", "use", "user"]) {
		for (const alphabet of ["base64", "base64url"] as const) {
			const text = Buffer.from(`${before}${value}@h`).toString(alphabet);
			const out = masked([value], [`Basic ${text}`]);
			assert.ok(out.includes(OUTPUT_MASK) && out.length < 30, `${before} ${out}`);
		}
	}
});

test("only what may be the beginning of a value waits, and it is masked however slowly it arrives", () => {
	const masker = createMasker(["hunter22", "\nsecret of two\nlines, the other\n"]);
	const push = (text: string) => masker.push(Buffer.from(text)).toString();
	assert.equal(push("Password: "), "Password: ");
	assert.equal(push("a line\n"), "a line\n", "no line break waits for what follows it");
	assert.equal(push("of the h"), "of the ");
	assert.equal(push("orn"), "horn");
	assert.equal([..."hunter22"].map(push).join("|"), `|||||||${OUTPUT_MASK}`);
	assert.equal(push("hunter2"), "");
	assert.equal(masker.end().toString(), "hunter2");
});

/** A generator of the same numbers in each run. */
function numbers(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

test("however the output is cut, what is passed on is the same, holds no value, and loses nothing else", () => {
	for (let seed = 1; seed <= 400; seed++) {
		const below = numbers(seed);
		// Few letters, so that values begin alike, overlap and repeat.
		const word = (length: number) => Array.from({ length }, () => "ab\n\xff"[below(4)]).join("");
		const values = Array.from({ length: 1 + below(4) }, () => `a${word(5 + below(8))}b`);
		const pieces = Array.from({ length: below(30) }, () =>
			below(3) === 0 ? (values[below(values.length)] ?? "") : word(below(9)),
		);
		const output = Buffer.from(pieces.join(""));
		const chunks: Buffer[] = [];
		for (let at = 0; at < output.length; ) {
			const length = 1 + below(7);
			chunks.push(output.subarray(at, at + length));
			at += length;
		}
		const whole = masked(values, [output]);
		assert.equal(masked(values, chunks), whole, `seed ${seed}`);
		assert.equal(whole, byHand(values, output), `seed ${seed}`);
	}
});

/** The same by marking every byte of every form. */
function byHand(values: readonly string[], output: Buffer): string {
	const forms = values.flatMap(formsOf).map((form) => Buffer.from(form));
	let out = "";
	let end = 0;
	for (let at = 0; at < output.length; at++) {
		const lengths = forms
			.filter((form) => output.subarray(at, at + form.length).equals(form))
			.map(({ length }) => length);
		if (lengths.length > 0 && at >= end) out += OUTPUT_MASK;
		end = Math.max(end, ...lengths.map((length) => at + length));
		if (at >= end) out += output.toString("latin1", at, at + 1);
	}
	return out;
}

test("bytes that are no text pass unchanged, 16 MiB of them within seconds", () => {
	const masker = createMasker(Array.from({ length: 200 }, (_, index) => `value number ${index} of many`));
	const noise = Buffer.alloc(1 << 20);
	for (let at = 0, below = numbers(7); at < noise.length; at++) noise[at] = below(256);
	for (let times = 0; times < 16; times++) assert.ok(masker.push(noise).length <= noise.length + 4);
	assert.equal(createMasker(["hunter22"]).push(noise).compare(noise), 0);
});
