import type { Snapshot } from "../../backups/model.ts";
import { codeOf, codeOfFile } from "./failure.ts";
import { ReadWorker } from "./read-worker.ts";

/** Opens a database file, such as a backup, to judge it in a thread of its own. */
export function openSnapshot(file: string): Snapshot {
	const worker = new ReadWorker(file);
	return {
		audit: {
			checkpoints: worker.question("audit", "checkpoints"),
			verify: worker.question("audit", "verify"),
		},
		facts: worker.question("snapshots", "facts"),
		checkQuickly: worker.question("snapshots", "checkQuickly"),
		inspect: worker.question("snapshots", "inspect"),
		keys: worker.question("snapshots", "keys"),
		adoptionPreview: worker.question("snapshots", "adoptionPreview"),
		compare: worker.question("snapshots", "compare"),
		checkIntegrity: worker.question("snapshots", "checkIntegrity"),
		samples: worker.question("snapshots", "samples"),
		sealed: worker.question("snapshots", "sealed") as Snapshot["sealed"],
		close: () => worker.close(),
	};
}

/** Copies a database that is in use into an empty file. @throws Error whose `code` is ENOSPC when the disk is full, else SQLite's */
export async function takeSnapshot(from: string, to: string): Promise<void> {
	const worker = new ReadWorker(from);
	try {
		await worker.question("snapshots", "copyTo")(to);
	} catch (error) {
		throw Object.assign(error as Error, { code: codeOfFile(codeOf(error)) });
	} finally {
		await worker.close();
	}
}
