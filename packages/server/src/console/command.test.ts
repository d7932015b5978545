import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { command, joined, lineOf } from "./command.ts";

/** The words that a shell makes of a command line. */
function wordsOf(line: string): string[] {
	return execFileSync("sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" })
		.split("\0")
		.slice(0, -1);
}

test("each value is one word to a shell, and stays what it is", () => {
	for (const value of ["DB_URL", "a b", "x; echo no #", "$(id)", "`id`", "it's", "", "a\nb", '"', "\\", "*", "~", "!!"])
		assert.deepEqual(wordsOf(lineOf(command`svc get ${value} --env ${"prod"}`)), [
			"svc",
			"get",
			value,
			"--env",
			"prod",
		]);
});

test("plain values appear without quotes, and parts are joined with a blank", () => {
	const line = joined(
		command`svc audit --realm ${"shop"}`,
		command`--limit ${3}`,
		command`--actor ${"ada@example.com"}`,
	);
	assert.equal(lineOf(line), "svc audit --realm shop --limit 3 --actor ada@example.com");
});
