import assert from "node:assert/strict";
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

/** The source with the cost of a password's hash. */
const COST = "packages/server/src/crypto/password-cost.ts";

/**
 * Builds the binary, which takes a few seconds.
 * @param hasCheapPasswords lets the hash of a password take no time: it is a third of the work of a black-box test
 */
export async function buildBinary({ hasCheapPasswords = false } = {}): Promise<Built> {
	const folder = await mkdtemp(join(tmpdir(), "svc-binary-"));
	const remove = () => rm(folder, { recursive: true, force: true });
	try {
		return {
			...(await makeExecutable(folder, hasCheapPasswords ? { edit: cheapen } : {})),
			[Symbol.asyncDispose]: remove,
		};
	} catch (error) {
		await remove();
		throw error;
	}
}

function cheapen(source: string, text: string): string {
	if (source !== COST) return text;
	const cheap = text.replace("memoryCost: 65_536, timeCost: 3,", "memoryCost: 64, timeCost: 1,");
	assert.notEqual(cheap, text, `${COST} names the cost`);
	return cheap;
}
