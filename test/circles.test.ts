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
	([, from = "", to = ""]) => ({
		from: fromRoot(from),
		to: fromRoot(to),
	}),
);

/** Completes a path, which begins with `packages/` unless it is the server's. */
function fromRoot(path: string): string {
	return path.startsWith("packages/") ? path : `packages/server/src/${path}`;
}

function exceptionFor([from, to]: Arrow): (typeof exceptions)[number] | undefined {
	return exceptions.find((row) => from.startsWith(row.from) && to.startsWith(row.to));
}

/** Lists what the sources import of one another. */
const imports = files
	.filter((file) => !isTest(file))
	.flatMap((file) =>
		importsOf(file)
			.filter((name) => name.startsWith("."))
			.map((name): Arrow => [file, join(dirname(file), name)]),
	);

/** Lists the arrows that are part of a circle, or between two circles. */
function circlesIn(arrows: readonly Arrow[]): readonly Arrow[] {
	const [starts, ends] = [new Set(arrows.map(([from]) => from)), new Set(arrows.map(([, to]) => to))];
	const inner = arrows.filter(([from, to]) => starts.has(to) && ends.has(from));
	return inner.length === arrows.length ? arrows : circlesIn(inner);
}

test("folders import one another in one direction, except for the imports that CONTRIBUTING lists", () => {
	const isModel = (file: string) => /\/([a-z]+-)?(model|decide)\.ts$/.test(file);
	for (const base of BASES) {
		const arrows = new Map<string, Arrow>();
		for (const arrow of imports.filter(([from]) => from.startsWith(`${base}/`))) {
			const [a = "", b = ""] = arrow.map((path) => relative(base, path).split("/")[0]);
			if (a !== b && !arrow.some(isModel) && exceptionFor(arrow) === undefined) arrows.set(`${a} ${b}`, [a, b]);
		}
		assert.deepEqual(circlesIn([...arrows.values()]), []);
	}
	assert.deepEqual(new Set(exceptions), new Set(imports.flatMap((arrow) => exceptionFor(arrow) ?? [])));
});

test("files import one another in one direction, types included, except for the imports that CONTRIBUTING lists", () => {
	assert.deepEqual(circlesIn(imports.filter((arrow) => exceptionFor(arrow) === undefined)), []);
});
