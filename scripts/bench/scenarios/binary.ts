import { execFileSync, type spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { makeArchive } from "../../binary/archive.ts";
import { makeEmptyRoot } from "../../binary/empty-root.ts";
import { makeExecutable } from "../../binary/executable.ts";
import { endWithThisProcess, type ServerProcess, startServerProcess } from "../child.ts";
import { exchange } from "../exchange.ts";
import { residentMb } from "../process-usage.ts";
import { median } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { scratchFolder } from "../scratch.ts";

const ROUNDS = 15;
const IDLE_S = 10;
const MB = 1e6;

/** Sizes of the single binary, and the time that people and systemd wait for it. */
export const BINARY: Scenario = { name: "binary", title: "single binary", run: measure };

async function measure(): Promise<Result> {
	const folder = scratchFolder();
	const executable = await makeExecutable(folder);
	const archive = makeArchive(executable, folder, new Date(0));
	const { file } = executable;
	const starts = await startsOf(file, folder);
	const idle = await idleMemory(file, folder);
	const fresh = await healthFromEmptyRoot(file);
	return {
		findings: [
			size("archive", archive, 45),
			size("binary", file, 135),
			time("svc version", timesOf(file, ["version"]), 60),
			time("svc --help, for comparison", timesOf(file, ["--help"])),
			time("node -e 0, for comparison", timesOf(process.execPath, ["-e", "0"])),
			time("server, start to listening", starts, 150),
			time("exec to an answer of health, in an empty root", fresh, 300),
			{ measure: `resident memory after ${IDLE_S} s`, value: idle, unit: "MB", target: { atMost: 110 } },
		],
	};
}

function size(measure: string, file: string, atMost: number): Finding {
	return { measure, value: statSync(file).size / MB, unit: "MB", target: { atMost } };
}

function time(measure: string, times: readonly number[], atMost?: number): Finding {
	const target = atMost === undefined ? {} : { target: { atMost } };
	return { measure: `${measure}, median of ${times.length}`, value: median(times), unit: "ms", ...target };
}

function timesOf(file: string, args: readonly string[]): number[] {
	return Array.from({ length: ROUNDS }, () => {
		const started = performance.now();
		const { status } = spawnSync(file, args, { stdio: "ignore", env: {} });
		if (status !== 0) throw new Error(`${file} ends with ${status}`);
		return performance.now() - started;
	});
}

function startBinary(file: string, data: string): Promise<ServerProcess> {
	const env = { HOME: data, SVC_DATA_DIR: data, SVC_LISTEN: "127.0.0.1:0" };
	return startServerProcess({ file, args: ["server"], env });
}

/** Starts that find their data and their libraries in place. */
async function startsOf(file: string, folder: string): Promise<number[]> {
	const times: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const server = await startBinary(file, join(folder, "data"));
		times.push(server.startMs);
		await server.stop();
	}
	return times;
}

/**
 * Idle memory as after a boot: the kernel keeps a newly written file in pages of up to 2 MB, and counts a whole page as resident when the
 * program touches part of it, which makes 40 MB.
 */
async function idleMemory(file: string, folder: string): Promise<number> {
	execFileSync("sync", [file]);
	execFileSync("dd", [`if=${file}`, "iflag=nocache", "count=0", "status=none"]);
	const server = await startBinary(file, join(folder, "data"));
	await wait(IDLE_S * 1000);
	const resident = residentMb(server.pid);
	await server.stop();
	return resident;
}

/** Time from exec to the answer, each time with nothing but the binary: it makes keys, certificate and database meanwhile. */
async function healthFromEmptyRoot(file: string): Promise<number[]> {
	const root = makeEmptyRoot(file);
	const times: number[] = [];
	try {
		for (let round = 0; round < ROUNDS; round++) {
			for (const made of ["data", "tmp"]) rmSync(join(root.folder, made), { recursive: true, force: true });
			times.push(await untilHealthy(root.start(["server"], { SVC_LISTEN: "127.0.0.1:0" })));
		}
	} finally {
		root.remove();
	}
	return times;
}

async function untilHealthy(child: ReturnType<typeof spawn>): Promise<number> {
	const started = performance.now();
	endWithThisProcess(child);
	let written = "";
	for await (const more of child.stdout?.setEncoding("utf8") ?? []) {
		written += more as string;
		const url = /listening on (https:\S+)/.exec(written)?.[1];
		if (url === undefined) continue;
		const { status } = await exchange(url, { method: "GET", path: "/api/v1/health" });
		const taken = performance.now() - started;
		if (status !== 200) throw new Error(`health is answered with ${status}`);
		const closed = once(child, "close");
		child.kill("SIGTERM");
		await closed;
		return taken;
	}
	throw new Error("the binary did not start in an empty root");
}
