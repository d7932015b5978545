/**
 * `npm run image`: makes `dist/svc-…-oci.tar`, a container image with the single binary, the libraries that it needs, and nothing else.
 * Design: packages/server/adr/0016-container-image.md
 */
import { mkdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { withProgress } from "../packages/cli/src/io/progress.ts";
import { readBuild } from "../packages/server/src/health/build.ts";
import { ROOT } from "./binary/bundle.ts";
import { makeExecutable } from "./binary/executable.ts";
import { makeImage } from "./image/image.ts";

const folder = join(ROOT, "dist", "image");

try {
	mkdirSync(folder, { recursive: true });
	const { file, digest } = await withProgress({ io: process, options: {} }, "making the image", async (report) => {
		const executable = await makeExecutable(folder, { isRepeatable: true, onStep: report });
		report("packing");
		return makeImage(executable, readBuild(), folder);
	});
	process.stdout.write(`${relative(process.cwd(), file)}  ${(statSync(file).size / 1e6).toFixed(1)} MB  ${digest}\n`);
} catch (error) {
	process.stderr.write(`image: ${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
}
