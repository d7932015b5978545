import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The folder of the repository. */
export const REPOSITORY = resolve(import.meta.dirname, "../..");

/** Files of the repository whose names end so, those that are new included. Paths begin at the repository. */
export function filesOf(...endings: string[]): string[] {
	const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
		cwd: REPOSITORY,
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	return listed.split("\n").filter((path) => endings.some((end) => path.endsWith(end)) && existsSync(fileOf(path)));
}

/** The absolute path of a file of the repository. */
export const fileOf = (path: string): string => join(REPOSITORY, path);

/** The text of a file of the repository. */
export const textOf = (path: string): string => readFileSync(fileOf(path), "utf8");

/** A heading of a page. */
export interface Heading {
	/** 1 for the page's title. */
	readonly level: number;
	readonly text: string;
	/** The anchor that GitHub gives it. */
	readonly anchor: string;
}

/** The headings of a page, in order. */
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

/** The page without what stands in its fences. */
export const withoutFences = (markdown: string): string => markdown.replace(/^( *)```.*\n[\s\S]*?^\1```$/gm, "");

/** The links of a page to other places of the repository, without those to the web. */
export function linksOf(markdown: string): string[] {
	const prose = withoutFences(markdown).replace(/`[^`\n]*`/g, "");
	return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target).filter((link) => !/^\w+:/.test(link));
}
