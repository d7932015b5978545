import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const LICENCE_FILE = /^(licen[cs]e|copying|notice)\b/i;

/**
 * The licences of everything that is in the binary beside our own code: Node, and packages.
 * @param packages their folders
 */
export function licencesOf(packages: readonly string[]): string {
	const node = join(dirname(dirname(process.execPath)), "LICENSE");
	const sections = [section(`Node.js ${process.version}`, [readFileSync(node, "utf8")])];
	for (const folder of packages) {
		const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
		const texts = readdirSync(folder)
			.filter((file) => LICENCE_FILE.test(file))
			.map((file) => readFileSync(join(folder, file), "utf8"));
		sections.push(section(`${name} ${version}${license === undefined ? "" : `, ${license}`}`, texts));
	}
	return sections.join("\n");
}

interface Manifest {
	name: string;
	version: string;
	license?: string;
}

function section(title: string, texts: readonly string[]): string {
	const line = "=".repeat(title.length);
	return `${title}\n${line}\n\n${texts.map((text) => `${text.trim()}\n`).join("\n")}`;
}
