import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

/** Longer than a build of the standard library takes without a cache. */
const BUILD_TIMEOUT_MS = 900_000;

/** Builds the Go program of a folder; returns false where Go is missing. @throws AssertionError with the compiler's output */
export function goBuild(folder: string, output: string): boolean {
	const { error, status, stderr } = spawnSync("go", ["build", "-o", output, "."], {
		cwd: folder,
		encoding: "utf8",
		timeout: BUILD_TIMEOUT_MS,
	});
	if (error !== undefined && "code" in error && error.code === "ENOENT") return false;
	assert.equal(status, 0, stderr);
	return true;
}
