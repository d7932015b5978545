import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileOf, filesOf, headingsOf, linksOf, textOf } from "./markdown.ts";

const headings = headingsOf(textOf("docs/specification.md"));
const chapters = new Map<string, string[]>();
for (const { level, text } of headings) {
	if (level === 2) chapters.set(text, []);
	else if (level > 2) [...chapters.values()].at(-1)?.push(text);
}

const sections = new Set(headingsOf(textOf("docs/design.md")).map(({ text }) => /^(\d+(\.\d+)?)\.? /.exec(text)?.[1]));

/** Tells whether the name is a section of the chapter, or the beginning of exactly one. */
function isSection(chapter: string, name: string): boolean {
	const among = chapters.get(chapter.toUpperCase()) ?? [];
	return among.includes(name) || among.filter((text) => text.startsWith(name)).length === 1;
}

/** Returns the error in the text after `Spec:`; commas separate references, and a chapter also applies to those after it. */
function problemOf(reference: string): string | undefined {
	let chapter = "";
	for (const item of reference.split(/, (?!and )/)) {
		if (/^(RFC \d+|OpenID Connect Core 1\.0)( §[\d.]+)?$/.test(item)) continue;
		const [, named, section] = /^(?:(API|ENGINES|Engines)(?: › )?)?(.*)$/.exec(item) ?? [];
		if (named !== undefined) chapter = named;
		if (!chapters.has(chapter.toUpperCase())) return `${item} names no chapter`;
		if (section !== "" && section !== undefined && !isSection(chapter, section)) return `${item} is no section`;
	}
	return undefined;
}

/** Joins a comment into one line: its references continue after a line break. */
const inOneLine = (source: string) => source.replace(/\n\s*\*? (?!\s*@)/g, " ");

/** The sources of programs and tests. */
const SOURCES = filesOf(".ts", ".mts", ".mjs").filter((path) => !path.startsWith("test/docs/"));

test("each reference to the specification is a section of the page, or an RFC", () => {
	const wrong: string[] = [];
	let count = 0;
	for (const path of SOURCES) {
		for (const [, reference = ""] of inOneLine(textOf(path)).matchAll(
			/\bSpec: (.+?)(?=\.? \*\/|\*\/|\. |\.?\s*\n|;)/g,
		)) {
			count += 1;
			const problem = problemOf(reference.trim());
			if (problem !== undefined) wrong.push(`${path}: ${problem}`);
		}
	}
	assert.ok(count > 100, `only ${count} references were found`);
	assert.deepEqual(wrong, []);
});

test("each reference to the design is a section of the page, or a file", () => {
	const wrong: string[] = [];
	let count = 0;
	for (const path of [...SOURCES, ...filesOf(".md")]) {
		const text = inOneLine(textOf(path));
		for (const [, list = "", first] of text.matchAll(
			/\bDesign:? ((?:(?:§[\d.]*\d)(?:, |(?= |\.|\)|;|:|\n|$|\*))?)+|(\S+\/\S+\.md))/g,
		)) {
			count += 1;
			if (first !== undefined) {
				if (!existsSync(fileOf(first))) wrong.push(`${path}: ${first}`);
				continue;
			}
			for (const [, section = ""] of list.matchAll(/§([\d.]*\d)/g)) {
				if (!sections.has(section)) wrong.push(`${path}: Design §${section}`);
			}
		}
		const all = text.match(/\bDesign: /g)?.length ?? 0;
		const read = text.match(/\bDesign: (§\d|\S+\/\S+\.md)/g)?.length ?? 0;
		if (all !== read && !path.startsWith("docs/")) wrong.push(`${path}: a reference that cannot be read`);
	}
	assert.ok(count > 100, `only ${count} references were found`);
	assert.deepEqual(wrong, []);
});

test("each decision that sources and pages name by number is a page", () => {
	const numbers = new Set(filesOf(".md").flatMap((path) => /adr\/0*(\d+)-/.exec(path)?.[1] ?? []));
	const wrong = [...SOURCES, ...filesOf(".md")].flatMap((path) =>
		[...textOf(path).matchAll(/\bADR (\d+)/g)].flatMap(([, number = ""]) =>
			numbers.has(number) ? [] : `${path}: ADR ${number}`,
		),
	);
	assert.deepEqual(wrong, []);
});

test("each link of a page leads to a file of the repository, and to a heading of it", () => {
	const wrong: string[] = [];
	for (const path of filesOf(".md")) {
		for (const link of linksOf(textOf(path))) {
			const [target = "", anchor] = link.split("#");
			const file = target === "" ? path : join(dirname(path), target);
			if (!existsSync(fileOf(file))) wrong.push(`${path}: ${link}`);
			else if (anchor !== undefined && !headingsOf(textOf(file)).some((heading) => heading.anchor === anchor))
				wrong.push(`${path}: ${link} is no heading there`);
		}
	}
	assert.deepEqual(wrong, []);
});

/** Folders from which a page names files: the repository and the server's sources. */
const BASES = ["", "packages/server/src/", "packages/server/"];

/** Files that are generated or lie on the reader's machine. */
const ELSEWHERE = /^(dist|data|tools)\/|^(\/|~|\.)/;

test("each file that a page about the sources names is there", () => {
	const pages = [
		"CONTRIBUTING.md",
		"SECURITY.md",
		"docs/architecture.md",
		"docs/design.md",
		...filesOf(".md").filter((path) => path.includes("/adr/")),
	];
	const wrong = pages.flatMap((page) =>
		[...textOf(page).matchAll(/`([\w.@/-]+\/[\w.-]+\.(?:ts|md|mjs|json|toml))`/g)]
			.map(([, file = ""]) => file)
			.filter((file) => !ELSEWHERE.test(file) && !BASES.some((base) => existsSync(fileOf(base + file))))
			.map((file) => `${page}: ${file}`),
	);
	assert.deepEqual(wrong, []);
});
