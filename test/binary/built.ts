import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Executable, makeExecutable } from "../../scripts/binary/executable.ts";

/** Why the binary cannot be made here, or false. */
export const skipWithoutStrip: string | false =
	spawnSync("strip", ["--version"]).error === undefined ? false : "strip is not installed (binutils)";

/** The single binary, made for one test file in a folder in which there is nothing else. */
export interface Built extends Executable, AsyncDisposable {}

/** Makes it: a few seconds. */
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
