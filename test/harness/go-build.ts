import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

/** Longer than the standard library takes where nothing is kept of it. */
const BUILD_TIMEOUT_MS = 900_000;

/** Builds the Go program of a folder; answers false where there is no Go. @throws AssertionError with what the compiler says */
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
