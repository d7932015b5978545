import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { textOf } from "./markdown.ts";

const ROW = /^\| ([^|]+?) +\|/gm;

/** Packages that have a row on a page, which may name several or end in `*`. */
const rowsOf = (page: string) =>
	[...textOf(`packages/server/adr/${page}`).matchAll(ROW)].flatMap(([, cell = ""]) => cell.split(", "));

const ROWS = [...rowsOf("0006-dependencies.md"), ...rowsOf("0010-single-sign-on.md")];

const { catalog } = parse(textOf("pnpm-workspace.yaml")) as { catalog: Record<string, string> };
const { optionalDependencies } = JSON.parse(textOf("package.json")) as { optionalDependencies: Record<string, string> };

test("each dependency has a row that says what it does and why it is not ours, and each row a dependency", () => {
	const names = [...Object.keys(catalog), ...Object.keys(optionalDependencies)].filter(
		(name) => !name.startsWith("@types/"),
	);
	const isNamed = (row: string, name: string) => (row.endsWith("*") ? name.startsWith(row.slice(0, -1)) : row === name);
	assert.ok(names.length > 30);
	assert.deepEqual(
		names.filter((name) => !ROWS.some((row) => isNamed(row, name))),
		[],
	);
	const packages = ROWS.filter((row) => row !== "package" && !/^-+$/.test(row));
	assert.deepEqual(
		packages.filter((row) => !names.some((name) => isNamed(row, name))),
		[],
	);
});
