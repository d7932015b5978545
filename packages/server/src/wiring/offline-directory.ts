import { setTimeout as delay } from "node:timers/promises";
import { FatalError } from "../errors.ts";
import { TLS_FILES } from "../http/tls-files.ts";
import { codeOf } from "../store/sqlite/failure.ts";
import { checkDataDirectory, DATABASE_FILES, lockDataDirectory, refusingProcess } from "../store/sqlite/files.ts";

/** Milliseconds that a server may take to end, and between two looks. */
const [ENDING_MS, LOOK_MS] = [60_000, 100];

/**
 * Locks a data directory while work is done on it.
 * @param onEnding called with the process of a server that refuses every request, before that is ended; without it, no server is
 * @throws FatalError when another server runs, or when others may read its files
 */
export async function whileOffline<Result>(
	data_dir: string,
	work: () => Promise<Result>,
	onEnding?: (pid: number) => void,
): Promise<Result> {
	checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]);
	const unlock = onEnding === undefined ? lockDataDirectory(data_dir) : await lockAfter(data_dir, onEnding);
	try {
		return await work();
	} finally {
		unlock();
	}
}

/** Locks a data directory, and ends the server that has it if that refuses every request. */
async function lockAfter(data_dir: string, onEnding: (pid: number) => void): Promise<() => void> {
	let isEnding = false;
	for (let waited_ms = 0; ; waited_ms += LOOK_MS) {
		try {
			return lockDataDirectory(data_dir);
		} catch (error) {
			const pid = isEnding ? undefined : refusingProcess(data_dir);
			if (waited_ms >= ENDING_MS || (!isEnding && pid === undefined)) throw error;
			if (pid !== undefined) {
				onEnding(pid);
				end(pid);
			}
			isEnding = true;
		}
		await delay(LOOK_MS);
	}
}

function end(pid: number): void {
	try {
		process.kill(pid, "SIGTERM");
	} catch (cause) {
		// It has ended already.
		if (codeOf(cause) === "ESRCH") return;
		throw new FatalError(
			`the server refuses every request, but process ${pid} cannot be ended from here: stop it`,
			78,
			{ cause },
		);
	}
}
