import { cpus, loadavg, release, totalmem } from "node:os";
import type { Machine } from "./report.ts";

/** Describes this machine without identifying it. */
export function describeMachine(): Omit<Machine, "wrk"> {
	return {
		cores: cpus().length,
		cpu: cpus()[0]?.model ?? "unknown",
		memory_gb: Math.round(totalmem() / 2 ** 30),
		kernel: release().replace(/-.*/, ""),
		node: process.versions.node,
		load: Number(loadavg()[0]?.toFixed(2)),
	};
}
