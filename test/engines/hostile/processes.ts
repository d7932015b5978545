import { readdirSync, readFileSync } from "node:fs";
import type { Api } from "../../harness/client.ts";

/** A process as its parent's process table shows it. */
export interface Child {
	readonly pid: number;
	/** A letter of proc(5): `Z` means dead, but not yet noticed by the parent. */
	readonly state: string | undefined;
}

/** Returns the processes that a process has started and that still exist. */
export function childrenOf(pid: number): Child[] {
	const threads = readdirSync(`/proc/${pid}/task`);
	const ids = threads.flatMap((id) => readFileSync(`/proc/${pid}/task/${id}/children`, "utf8").split(" "));
	return ids.filter((id) => id !== "").map((id) => ({ pid: Number(id), state: stateOf(Number(id)) }));
}

/** Returns the number of a process's open descriptors. */
export function descriptorsOf(pid: number): number {
	return readdirSync(`/proc/${pid}/fd`).length;
}

/** Tells whether a process runs. A dead one whose parent has not noticed does not. */
export function isRunning(pid: number): boolean {
	return !["Z", undefined].includes(stateOf(pid));
}

function stateOf(pid: number): string | undefined {
	try {
		return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
	} catch {
		return undefined;
	}
}

/** Returns the server's resident memory from its metrics. */
export async function residentBytes(client: Api): Promise<number> {
	const { text } = await client.send("GET", "/metrics");
	return Number(/^svc_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}
