import { startThread } from "../../asset.ts";
import { system } from "../../system.ts";
import { ThreadPool } from "../../threads/thread-pool.ts";
import { codeOfFile } from "../sqlite/failure.ts";
import type { Address } from "./address.ts";
import type { CopyAnswer, CopyInput } from "./copy-thread.ts";

/** Copies the store into an empty file, as an SQLite database, in a thread with its own connection. @throws Error whose `code` is ENOSPC when the disk is full */
export async function takeCopy(address: Address, file: string): Promise<void> {
	const workerData: CopyInput = { address, now: system.now().toISOString() };
	const start = () => startThread(new URL("./copy-thread.ts", import.meta.url), { workerData });
	const thread = new ThreadPool<string, CopyAnswer>({ start, idle_ms: 0 });
	try {
		const failed = await thread.ask(file);
		if (failed === null) return;
		throw Object.assign(new Error(`copying the store failed: ${failed.message}`), { code: codeOfFile(failed.code) });
	} finally {
		await thread.close();
	}
}
