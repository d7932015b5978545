import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf, textOf } from "./markdown.ts";

/** Phrases that make a reader stumble, and plain words for them: on pages, in messages and in comments. */
const EVERYWHERE: readonly (readonly [RegExp, string])[] = [
	[/\bwho(m|so)?ever\b/i, "anybody who, the person who"],
	[/\b(holds?|counts?) at once\b/i, "takes effect immediately"],
	[/\bcounts? before\b/i, "overrides"],
	[/\bcomes? for the first time\b/i, "a first sign-in"],
	[/\b(comes?|came) to life\b/i, "is created"],
	[/\b(look|looks|try|tries) whether\b/i, "check that"],
	[/\binto use\b/i, "set up"],
	[/\bfor good\b/i, "permanently"],
	[/\bsomething else than\b/i, "something other than"],
	[/\bone no more\b/i, "no longer one, remove that right"],
	[/\b(is|are|was|were) told (so|of|that|what|which|why|to|apart)\b/i, "gets, sees, is reported"],
	[/\b(as long as (it|they) likes?|what is none|of nobody.s|the other way round)\b/i, "say it literally"],
	[/\bof then\b/i, "that were current then"],
	[/\bas long again\b/i, "twice as long, for the same time"],
	[/\bevents? (that|which) stands? alone\b/i, "an event without a change"],
	[/\b(rows?|tokens?|factors?|sessions?) (that |which )?stands?\b/i, "exists, is valid, is set up"],
	[/(?<!-)\bbeside\b(?!-)/i, "next to, in addition to, compared with"],
	[/\b(is|are) let go\b/i, "is released"],
	[/\bfor ever\b/i, "forever"],
	[/\btells? of\b/i, "records, reports"],
	[/\bgives? (a|the) lease up\b/i, "abandons the lease"],
	[/\b(is|are) good for (a|an|one|its|the)\b/i, "is valid for"],
	[/\bwhatever comes of it\b/i, "in any case"],
	[/\bWhat (could|can|must|may) not\b/, "name the subject first"],
	[/\b(told|hears?)\b/i, "gets, reads, is sent"],
	[/\banew\b/i, "again"],
];

/** Phrases that pages and messages do without, too: they are read without the code around them. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
	...EVERYWHERE,
	[/\b(is|are) told\b/i, "needs, gets, sees"],
	[/\bbegins? so\b/i, "begins like this"],
	[/\bin one act\b/i, "together, as one event"],
	[/\bfind the program that does\b/i, "name what the program does"],
	[/(^|[.:] )(Who|Whose) (?!else\b)\w+(?!.*\?)/, "name the subject first"],
	[/\bsave for\b/i, "except"],
	[/\bgive (a lease up|up the lease)\b/i, "abandon a lease"],
	[/\bmeans? (itself|themselves)\b/i, "is taken literally"],
	[/\bthere is no way to\b/i, "cannot be reached"],
	[/\bhand(s|ed)? (it |them )?over\b/i, "provide, pass, send"],
];

/** The pages; the reference includes the help of every command and the summary of every endpoint. */
const PAGES = filesOf(".md").filter((path) => /^[A-Z]+\.md$|^(bench|docs|packages|plugins)\//.test(path));

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
	[/\/\*\*\s+(?:\*\s+)?(?:What|Whose|Who|Whoever)\b/g, "begin with a verb or a noun"],
	[/\/\*\*\s+(?:\*\s+)?Makes what\b/g, "name the thing that it makes"],
	...EVERYWHERE.map(
		([phrase, better]) => [new RegExp(`(?:^\\s*(?:\\*|//|/\\*\\*)|\\s// ).*${phrase.source}`, "gim"), better] as const,
	),
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

/** A text in the sources, on one line: what a person may read of a program that runs. */
const TEXT = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

/** The programs' own sources, without tests and what serves them. */
const PROGRAMS = filesOf(".ts").filter(
	(path) => /^(packages|plugins)\//.test(path) && !/\.test\.ts$|\/(?:testing|contract|fixtures)\//.test(path),
);

test("messages of the server and the client are in plain words", () => {
	const found = PROGRAMS.flatMap((path) =>
		textOf(path)
			.split("\n")
			.flatMap((line, index) =>
				(/^\s*(?:\*|\/\/|\/\*)/.test(line) ? [] : (line.match(TEXT) ?? [])).flatMap((text) =>
					PHRASES.filter(([phrase]) => phrase.test(text)).map(
						([phrase, better]) => `${path}:${index + 1}: ${phrase.exec(text)?.[0]} (${better})`,
					),
				),
			),
	);
	assert.deepEqual(found, []);
});
