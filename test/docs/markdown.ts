import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The folder of the repository. */
export const REPOSITORY = resolve(import.meta.dirname, "../..");

/** Files of the repository whose names have one of these endings, new files included. Paths are relative to the repository. */
export function filesOf(...endings: string[]): string[] {
	const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
		cwd: REPOSITORY,
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	return listed.split("\n").filter((path) => endings.some((end) => path.endsWith(end)) && existsSync(fileOf(path)));
}

/** Returns the absolute path of a file of the repository. */
export const fileOf = (path: string): string => join(REPOSITORY, path);

/** Returns the text of a file of the repository. */
export const textOf = (path: string): string => readFileSync(fileOf(path), "utf8");

/** A heading of a page. */
export interface Heading {
	/** 1 for the page's title. */
	readonly level: number;
	readonly text: string;
	/** The anchor that GitHub gives the heading. */
	readonly anchor: string;
}

/** Returns the headings of a page, in order. */
export function headingsOf(markdown: string): Heading[] {
	const taken = new Map<string, number>();
	return [...withoutFences(markdown).matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks = "", text = ""]) => {
		const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
		const slug = plain
			.toLowerCase()
			.replace(/[^\p{L}\p{N}_ -]/gu, "")
			.replaceAll(" ", "-");
		const count = taken.get(slug) ?? 0;
		taken.set(slug, count + 1);
		return { level: marks.length, text: plain, anchor: count === 0 ? slug : `${slug}-${count}` };
	});
}

/** Returns the page without the content of its fences. */
export const withoutFences = (markdown: string): string => markdown.replace(/^( *)```.*\n[\s\S]*?^\1```$/gm, "");

/** Returns the contents of a page's fences in a language, in order. */
export function fencesOf(markdown: string, language: string): string[] {
	const fences = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
	return [...markdown.matchAll(fences)].map(([, content = ""]) => content);
}

/** Returns the links of a page to other places in the repository, without web links. */
export function linksOf(markdown: string): string[] {
	const prose = withoutFences(markdown).replace(/`[^`\n]*`/g, "");
	return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target).filter((link) => !/^\w+:/.test(link));
}
