import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf, textOf } from "./markdown.ts";

/** Phrases that make a reader stumble, and plain words for them. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
	[/\bwho(m|so)?ever\b/i, "anybody who, the person who"],
	[/\bholds? at once\b/i, "takes effect immediately"],
	[/\bcounts? before\b/i, "overrides"],
	[/\bcomes? to life\b/i, "is created"],
	[/\|\s*is told\s*\|/i, "needs, gets"],
	[/\b(look|looks|try|tries) whether\b/i, "check that"],
	[/(^|[.:] )(Who|Whose) (?!else\b)\w+(?!.*\?)/, "name the subject first"],
	[/\bsave for\b/i, "except"],
	[/\binto use\b/i, "set up"],
	[/\bgive a lease up\b/i, "abandon a lease"],
	[/\bmeans? (itself|themselves)\b/i, "is taken literally"],
	[/\banew\b/i, "again"],
];

/** The pages; the reference includes the help of every command and the summary of every endpoint. */
const PAGES = filesOf(".md").filter((path) => /^[A-Z]+\.md$|^(docs|packages|plugins)\//.test(path));

test("the pages, the help of commands and the summaries of endpoints are in plain words", () => {
	const found = PAGES.flatMap((path) =>
		textOf(path)
			.split("\n")
			.flatMap((line, index) =>
				PHRASES.filter(([phrase]) => phrase.test(line)).map(
					([phrase, better]) => `${path}:${index + 1}: ${phrase.exec(line)?.[0]} (${better})`,
				),
			),
	);
	assert.deepEqual(found, []);
});

/** Beginnings and words of comments in the sources. */
const IN_COMMENTS: readonly (readonly [RegExp, string])[] = [
	[/\/\*\*\s+(?:\*\s+)?(?:What|Who|Whoever)\b/g, "begin with a verb or a noun"],
	[/(?:^\s*(?:\*|\/\/|\/\*\*)|\s\/\/ ).*\bwhoever\b/gim, "anybody who, the caller that"],
];

test("comments in the sources name their subject first", () => {
	const found = filesOf(".ts").flatMap((path) => {
		const text = textOf(path);
		const lineAt = (index: number) => text.slice(0, index).split("\n").length;
		return IN_COMMENTS.flatMap(([phrase, better]) =>
			[...text.matchAll(phrase)].map(({ index }) => `${path}:${lineAt(index)}: ${better}`),
		);
	});
	assert.deepEqual(found, []);
});
