/**
 * `npm run binary`: makes `dist/svc`, one file that needs no Node, and the archive to download, with its SHA-256. An argument names another folder.
 * Design: packages/server/adr/0011-single-binary.md
 */
import { mkdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { withProgress } from "../packages/cli/src/io/progress.ts";
import { readBuild } from "../packages/server/src/health/build.ts";
import { makeArchive } from "./binary/archive.ts";
import { ROOT } from "./binary/bundle.ts";
import { makeExecutable } from "./binary/executable.ts";

const folder = resolve(process.argv[2] ?? join(ROOT, "dist"));

try {
	mkdirSync(folder, { recursive: true });
	const files = await withProgress({ io: process, options: {} }, "making the binary", async (report) => {
		const executable = await makeExecutable(folder, { onStep: report });
		report("packing, which takes longest");
		return [executable.file, makeArchive(executable, folder, timeOf(readBuild().built))];
	});
	for (const file of files) say(file);
} catch (error) {
	process.stderr.write(`binary: ${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
}

/** Time of the commit; 1970 without a commit. */
function timeOf(built: string): Date {
	const time = new Date(built);
	return Number.isNaN(time.getTime()) ? new Date(0) : time;
}

function say(file: string): void {
	process.stdout.write(`${relative(process.cwd(), file)}  ${(statSync(file).size / 1e6).toFixed(1)} MB\n`);
}
