/* Imports in circles, of folders and of files. */
import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { files, importsOf, isTest, read } from "./harness/sources.ts";

/** Folders within which folders import one another in one direction. */
const BASES = ["packages/server/src", "packages/cli/src"];

type Arrow = readonly [from: string, to: string];

/** Imports that run up, as CONTRIBUTING lists them. */
const exceptions = [...read("CONTRIBUTING.md").matchAll(/^\| `(\S+)` → `(\S+)` +\|/gm)].map(
	([, from = "", to = ""]) => ({ from, to }),
);

const importsWithin = (file: string) => importsOf(file).filter((name) => name.startsWith("."));

/** Lists the arrows that are part of a circle, or between two circles. */
function circlesIn(arrows: readonly Arrow[]): readonly Arrow[] {
	const [starts, ends] = [new Set(arrows.map(([from]) => from)), new Set(arrows.map(([, to]) => to))];
	const inner = arrows.filter(([from, to]) => starts.has(to) && ends.has(from));
	return inner.length === arrows.length ? arrows : circlesIn(inner);
}

test("folders import one another in one direction, except for the imports that CONTRIBUTING lists", () => {
	const used = new Set<(typeof exceptions)[number]>();
	const isModel = (file: string) => /(^|\/)([a-z]+-)?(model|decide)\.ts$/.test(file);
	for (const base of BASES) {
		const arrows = new Map<string, Arrow>();
		for (const file of files.filter((name) => name.startsWith(`${base}/`) && !isTest(name))) {
			const from = relative(base, file);
			for (const specifier of importsWithin(file)) {
				const to = relative(base, join(dirname(file), specifier));
				const exception = exceptions.find((row) => from.startsWith(row.from) && to.startsWith(row.to));
				if (exception !== undefined) used.add(exception);
				const [a = "", b = ""] = [from, to].map((path) => path.split("/")[0]);
				if (exception === undefined && a !== b && !isModel(from) && !isModel(to)) arrows.set(`${a} ${b}`, [a, b]);
			}
		}
		assert.deepEqual(circlesIn([...arrows.values()]), []);
	}
	assert.deepEqual(new Set(exceptions), used, "each row of CONTRIBUTING is needed");
});

test("files import one another in one direction, types included, except for the imports that CONTRIBUTING lists", () => {
	const isException = ([from, to]: Arrow) =>
		exceptions.some((row) => from.endsWith(`/src/${row.from}`) && to.endsWith(`/src/${row.to}`));
	const arrows = files
		.filter((file) => !isTest(file))
		.flatMap((file) => importsWithin(file).map((name): Arrow => [file, join(dirname(file), name)]));
	assert.deepEqual(circlesIn(arrows.filter((arrow) => !isException(arrow))), []);
});
