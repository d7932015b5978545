import { startThread } from "../../asset.ts";
import { system } from "../../system.ts";
import { ThreadPool } from "../../threads/thread-pool.ts";
import { codeOfFile } from "../sqlite/failure.ts";
import type { Address } from "./address.ts";
import type { ExportAnswer, ExportInput } from "./sqlite-export-thread.ts";

/** Exports the store to an empty file, as an SQLite database, in a thread with its own connection. @throws Error whose `code` is ENOSPC when the disk is full */
export async function exportToSqlite(address: Address, file: string): Promise<void> {
	const workerData: ExportInput = { address, now: system.now().toISOString() };
	const start = () => startThread(new URL("./sqlite-export-thread.ts", import.meta.url), { workerData });
	const thread = new ThreadPool<string, ExportAnswer>({ start, idle_ms: 0 });
	try {
		const failed = await thread.ask(file);
		if (failed === null) return;
		throw Object.assign(new Error(`copying the store failed: ${failed.message}`), { code: codeOfFile(failed.code) });
	} finally {
		await thread.close();
	}
}
