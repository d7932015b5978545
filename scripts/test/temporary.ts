import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory, on Linux: the stores of tests need not wait for a disk. */
const MEMORY = "/dev/shm";

/** Bytes that must be free there: several times what a run uses. */
const NEEDED_BYTES = 4 * 2 ** 30;

/** The folder for a run's temporary files. */
export interface Temporary extends Disposable {
	readonly path: string;
}

/**
 * Makes the folder, in TMPDIR if that is set.
 * @param inMemory otherwise makes it in memory, if there is room and programs can be started there
 */
export function makeTemporary({ TMPDIR }: NodeJS.ProcessEnv, { inMemory }: { inMemory: boolean }): Temporary {
	if (TMPDIR === undefined && inMemory && hasRoom()) {
		const folder = makeIn(MEMORY);
		if (startsPrograms(folder.path)) return folder;
		folder[Symbol.dispose]();
	}
	return makeIn(TMPDIR ?? tmpdir());
}

function makeIn(parent: string): Temporary {
	const path = mkdtempSync(join(parent, "svc-npm-test-"));
	// Peers that run as a user of their own reach their files in it.
	chmodSync(path, 0o711);
	return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

function hasRoom(): boolean {
	try {
		const { bavail, bsize } = statfsSync(MEMORY);
		return bavail * bsize >= NEEDED_BYTES;
	} catch {
		return false;
	}
}

/** Containers often mount it with `noexec`. */
function startsPrograms(folder: string): boolean {
	const program = join(folder, "program");
	writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
	return spawnSync(program).status === 0;
}
