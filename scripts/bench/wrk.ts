import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { endWithThisProcess, type ServerProcess } from "./child.ts";
import { processorTime } from "./process-usage.ts";
import { scratchFolder } from "./scratch.ts";

/** Result of one run of wrk. */
export interface Measurement {
	readonly requests: number;
	readonly perSecond: number;
	readonly p50Ms: number;
	readonly p99Ms: number;
	/** Answers with a status of 400 or more. */
	readonly refused: number;
	/** Processor time of the server's main thread per request, in microseconds: steadier than speed on a busy machine. */
	readonly mainUs: number;
	/** The same for all its threads. */
	readonly allUs: number;
}

/** A run of wrk. */
export interface Run {
	/** The server under load. */
	readonly server: Pick<ServerProcess, "url" | "pid">;
	/** Path of a script made by `writeScript`. */
	readonly script: string;
	readonly connections: number;
	readonly seconds: number;
}

/** Printed by every script at the end of its run, so that nothing meant for people has to be parsed. */
const REPORT = `
function done(summary, latency)
	local errors = summary.errors
	io.write(string.format('\\n{"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"refused":%d,"broken":%d}\\n',
		summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
		errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`;

/**
 * Returns the version of wrk.
 * @throws Error saying how to install it when it is missing
 */
export function wrkVersion(): string {
	const { error, stdout, stderr } = spawnSync("wrk", ["--version"], { encoding: "utf8" });
	if (error !== undefined)
		throw new Error("wrk is not on the PATH: install it (Debian and Ubuntu: apt-get install wrk)");
	return /wrk (\S+)/.exec(stdout + stderr)?.[1] ?? "unknown";
}

/** Writes a Lua script for wrk into a private temporary folder, because it holds a token. Returns its path. */
export function writeScript(lua: string): string {
	const file = join(scratchFolder(), "load.lua");
	writeFileSync(file, lua + REPORT, { mode: 0o600 });
	return file;
}

/**
 * Loads a server for some seconds from one thread.
 * @throws Error when wrk fails, or when connections broke or timed out
 */
export async function runWrk({ server, script, connections, seconds }: Run): Promise<Measurement> {
	const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", script, server.url];
	const before = processorTime(server.pid);
	const child = spawn("wrk", args, { stdio: ["ignore", "pipe", "pipe"], timeout: (seconds + 30) * 1000 });
	endWithThisProcess(child);
	const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
	const line = output.trimEnd().split("\n").at(-1) ?? "";
	if (code !== 0 || !line.startsWith("{")) throw new Error(`wrk ended with ${String(code)}\n${output}${errors}`);
	const report = JSON.parse(line) as Record<
		"requests" | "duration_us" | "p50_us" | "p99_us" | "refused" | "broken",
		number
	>;
	const after = processorTime(server.pid);
	if (report.broken > 0) throw new Error(`${report.broken} connections broke or timed out`);
	return {
		requests: report.requests,
		perSecond: report.requests / (report.duration_us / 1e6),
		p50Ms: report.p50_us / 1000,
		p99Ms: report.p99_us / 1000,
		refused: report.refused,
		mainUs: (after.mainUs - before.mainUs) / report.requests,
		allUs: (after.allUs - before.allUs) / report.requests,
	};
}
