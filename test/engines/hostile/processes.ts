import { readdirSync, readFileSync } from "node:fs";
import type { Api } from "../../harness/client.ts";

/** A process as its parent's process table shows it. */
export interface Child {
	readonly pid: number;
	/** A letter of proc(5): `Z` waits for its parent to notice that it is dead. */
	readonly state: string | undefined;
}

/** The processes that a process has started and that are not gone yet. */
export function childrenOf(pid: number): Child[] {
	const threads = readdirSync(`/proc/${pid}/task`);
	const ids = threads.flatMap((id) => readFileSync(`/proc/${pid}/task/${id}/children`, "utf8").split(" "));
	return ids.filter((id) => id !== "").map((id) => ({ pid: Number(id), state: stateOf(Number(id)) }));
}

/** How many descriptors a process has open. */
export function descriptorsOf(pid: number): number {
	return readdirSync(`/proc/${pid}/fd`).length;
}

/** Whether a process runs. One that is dead and waits for its parent to notice does not. */
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

/** The server's resident memory, as its metrics say. */
export async function residentBytes(client: Api): Promise<number> {
	const { text } = await client.send("GET", "/metrics");
	return Number(/^svc_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}
