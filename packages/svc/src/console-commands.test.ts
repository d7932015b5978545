import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildProgram } from "@svc/cli";
import { leavesOf } from "@svc/cli/command-tree";
import { fakeIo } from "../../cli/src/testing/terminal.ts";
import { LOCAL_COMMANDS } from "./local-commands.ts";

const PAGES = fileURLToPath(new URL("../../server/src/console/pages/", import.meta.url));
const leaves = leavesOf(buildProgram(fakeIo().io, LOCAL_COMMANDS, () => undefined));

/** Command lines that the console's pages show, with `x` in the place of each value. */
const shown = globSync("*.ts", { cwd: PAGES }).flatMap((file) =>
	[...readFileSync(PAGES + file, "utf8").matchAll(/command`(svc [^`]*)`/g)].map(([, line = ""]) => ({
		file,
		line: line
			.replaceAll(/\$\{[^}]*\}/g, "x")
			.replace("--x", "--sso")
			.replace("trust add x", "trust add oidc"),
	})),
);

test("pages show commands", () => assert.ok(shown.length > 30, `${shown.length}`));

for (const { file, line } of shown) {
	test(`${file} shows a command that exists: ${line}`, () => {
		const words = line.split(" ").slice(1);
		// `svc backup` alone means its default command.
		const called = line === "svc backup" ? ["backup", "create"] : words;
		const fitting = leaves.filter((leaf) => leaf.words.every((word, at) => called[at] === word));
		const leaf = fitting.toSorted((one, other) => other.words.length - one.words.length)[0];
		assert.ok(leaf, "there is no such command");
		const { options, registeredArguments: taken } = leaf.command;
		const rest = words.slice(leaf.words.length);
		let given = 0;
		for (let at = 0; at < rest.length; at++) {
			const word = rest[at] ?? "";
			if (!word.startsWith("--")) given++;
			else {
				const option = options.find(({ long }) => long === word);
				assert.ok(option, `it has no option ${word}`);
				if (option.required) at++;
			}
		}
		assert.ok(given <= taken.length || taken.some(({ variadic }) => variadic), "it takes fewer words");
		assert.ok(given >= taken.filter(({ required }) => required).length, "it takes more words");
	});
}
