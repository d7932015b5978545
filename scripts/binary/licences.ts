import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Licence of a package, or of code bundled in one of its files. */
const LICENCE_FILE = /^(licen[cs]e|copying|notice)\b|\.licen[cs]e\.txt$/i;
/** Fallback for a package without such a file. */
const README_FILE = /^readme\b/i;
const README_CHAPTER = /^#+ licen[cs].*/ims;

/**
 * The licences of everything in the binary besides our own code: Node, and packages.
 * @param packages their folders
 */
export function licencesOf(packages: readonly string[]): string {
	const node = join(dirname(dirname(process.execPath)), "LICENSE");
	const sections = [section(`Node.js ${process.version}`, [readFileSync(node, "utf8")])];
	for (const folder of packages) {
		const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
		const { name, version, license } = manifest;
		const texts = readAll(folder, LICENCE_FILE);
		const chapters = readAll(folder, README_FILE).flatMap((text) => README_CHAPTER.exec(text)?.[0] ?? []);
		const found = [texts, chapters].find((some) => some.length > 0) ?? [statement(manifest)];
		sections.push(section(`${name} ${version}${license === undefined ? "" : `, ${license}`}`, found));
	}
	return sections.join("\n");
}

interface Manifest {
	name: string;
	version: string;
	license?: string;
	author?: string | { name: string };
	homepage?: string;
}

function readAll(folder: string, wanted: RegExp): string[] {
	const files = readdirSync(folder).filter((file) => wanted.test(file));
	return [...new Set(files.map((file) => readFileSync(join(folder, file), "utf8")))];
}

/** The statement of a package that comes without a licence's text. */
function statement({ license = "unknown", author, homepage }: Manifest): string {
	const name = typeof author === "string" ? author : author?.name;
	const by = [name, homepage].filter((part) => part !== undefined).map((part) => `, ${part}`);
	return `The package has no text of its licence. It says: ${license}${by.join("")}`;
}

function section(title: string, texts: readonly string[]): string {
	const line = "=".repeat(title.length);
	return `${title}\n${line}\n\n${texts.map((text) => `${text.trim()}\n`).join("\n")}`;
}
