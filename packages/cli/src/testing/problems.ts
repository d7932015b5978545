import assert from "node:assert/strict";

/** Asserts problems by their place and a word of their reason, such as `line 1, A: null`. */
export function assertProblems(found: readonly string[], expected: readonly string[]): void {
	assert.equal(found.length, expected.length, found.join("\n"));
	for (const [at, problem] of expected.entries()) {
		const [place = "", word = ""] = problem.split(": ");
		const line = found[at] ?? "";
		assert.ok(line.startsWith(`${place}: `) && line.slice(place.length).includes(word), `${line} is not ${problem}`);
	}
}
