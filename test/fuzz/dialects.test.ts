/* The dialects of .env files, compared with the programs themselves. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { DIALECTS } from "../../packages/cli/src/formats/imports/dialects/dialects.ts";
import { startResult } from "../../packages/cli/src/formats/imports/import-result.ts";
import { temporaryFolder } from "../../packages/cli/src/testing/terminal.ts";

function read(dialect: string, text: string) {
	const draft = startResult();
	DIALECTS[dialect]?.(draft, text);
	return draft;
}

/** Files of awkward pieces. */
const FILE = fc
	.array(
		fc.tuple(
			fc.constantFrom("A=", "B=", "export C=", "  D=", "E", "# ", " = ", "F ="),
			fc.array(
				fc.constantFrom(
					"x",
					" ",
					"'",
					'"',
					"\\",
					"$",
					"$x",
					"`",
					"#",
					" #",
					"\\n",
					"\\\n",
					"=",
					"é",
					"~",
					";",
					"\t",
					"{",
					"}",
				),
				{ maxLength: 7 },
			),
			fc.constantFrom("\n", "\n# c\n", "\n\n"),
		),
		{ maxLength: 4 },
	)
	.map((lines) => lines.map(([key, parts, end]) => key + parts.join("") + end).join(""));

test("Node reads what the dialect of Node reads", () => {
	fc.assert(
		fc.property(FILE, (text) => {
			const found = Object.fromEntries(read("node", text).entries.map(({ key, value }) => [key, value]));
			assert.deepEqual(found, { ...parseEnv(text) });
		}),
		{ seed: 16, numRuns: 500 },
	);
});

test("shells read what the dialect of the shell reads, where it finds no mistake", async (t) => {
	await using folder = await temporaryFolder();
	const file = join(folder.path, "file");
	for (const program of ["bash", "dash"]) {
		if (spawnSync(program, ["-c", "true"]).status !== 0) {
			t.diagnostic(`${program} is not installed`);
			continue;
		}
		let count = 0;
		for (const text of fc.sample(FILE, { seed: 16, numRuns: 400 })) {
			const { entries, problems } = read("shell", text);
			if (problems.length > 0) continue;
			count++;
			writeFileSync(file, text);
			const script = `set -a; . ${file}; /usr/bin/env -0`;
			const { stdout } = spawnSync(program, ["-c", script], { env: {}, encoding: "utf8" });
			const variables = Object.fromEntries(
				stdout.split("\0").map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
			);
			for (const { key, value } of new Map(entries.map((entry) => [entry.key, entry])).values())
				assert.equal(variables[key], value, `${program}: ${JSON.stringify(text)}`);
		}
		assert.ok(count > 20, String(count));
	}
});
