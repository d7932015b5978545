import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Executable, makeExecutable } from "../../scripts/binary/executable.ts";

/** The reason why the binary cannot be built here, or false. */
export const skipWithoutStrip: string | false =
	spawnSync("strip", ["--version"]).error === undefined ? false : "strip is not installed: apt-get install binutils";

/** The single binary, built for one test file in an otherwise empty folder. */
export interface Built extends Executable, AsyncDisposable {}

/** Builds the binary, which takes a few seconds. */
export async function buildBinary(): Promise<Built> {
	const folder = await mkdtemp(join(tmpdir(), "svc-binary-"));
	const remove = () => rm(folder, { recursive: true, force: true });
	try {
		return { ...(await makeExecutable(folder)), [Symbol.asyncDispose]: remove };
	} catch (error) {
		await remove();
		throw error;
	}
}
