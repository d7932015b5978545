import { createHash } from "node:crypto";
import { copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundle.ts";
import type { Executable } from "./executable.ts";
import { licencesOf } from "./licences.ts";
import { runTool } from "./tool.ts";

/** The licence, and the pages for people who run the server. */
const TEXTS = ["LICENSE", "README.md", "SECURITY.md", "CHANGELOG.md", "docs"];

/**
 * Packs the single binary with its accompanying files, and writes the archive's SHA-256 next to it. Names, owners and times in it do not
 * depend on its maker; V8's compiled code differs from one time to the next.
 * @param folder for the archive
 * @param time of every file in it
 * @returns the archive
 * @throws Error naming what is missing
 */
export function makeArchive({ file, name, packages }: Executable, folder: string, time: Date): string {
	const scratch = mkdtempSync(join(folder, ".archive-"));
	try {
		const content = join(scratch, name);
		mkdirSync(content);
		linkSync(file, join(content, "svc"));
		for (const text of TEXTS) cpSync(join(ROOT, text), join(content, text), { recursive: true });
		writeFileSync(join(content, "THIRD-PARTY-LICENSES"), licencesOf(packages));
		const archive = join(folder, `${name}.tar.xz`);
		const alike = [
			"--sort=name",
			"--owner=0",
			"--group=0",
			"--numeric-owner",
			"--mode=go-w",
			`--mtime=${time.toISOString()}`,
		];
		runTool("tar", [...alike, "-C", scratch, "-cf", join(scratch, "archive.tar"), name]);
		runTool("xz", ["--threads=0", "--force", join(scratch, "archive.tar")]);
		copyFileSync(join(scratch, "archive.tar.xz"), archive);
		const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex");
		writeFileSync(`${archive}.sha256`, `${sha256}  ${name}.tar.xz\n`);
		return archive;
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}
