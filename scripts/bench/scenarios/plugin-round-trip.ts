import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { loadCatalog } from "../../../packages/server/src/engines/host/catalog.ts";
import { createEngineHost } from "../../../packages/server/src/engines/host/host.ts";
import { spawnEngine } from "../../../packages/server/src/engines/host/launch.ts";
import { VERSION } from "../../../packages/server/src/health/build.ts";
import { BUILT_IN } from "../../../packages/svc/src/built-in-engines.ts";
import { median, quantile } from "../rounds.ts";
import type { Finding, Scenario } from "../scenario.ts";
import { scratchFolder } from "../scratch.ts";

const ROUNDS = 3;
const CALLS = 2000;
const MAX_P50_US = 100;
/** The least work of a program that reads a line and writes one. */
const ECHO = { file: process.execPath, arguments: ["-e", "process.stdin.pipe(process.stdout)"] };

/**
 * A request to a built-in engine's process and its answer, through the host as in the core, one after the other. The waiting side sleeps, and the
 * time to wake a sleeping processor is the machine's: so each is measured on one processor, too, which is never idle.
 */
export const PLUGIN_ROUND_TRIP: Scenario = {
	name: "plugin-round-trip",
	title: "round trip to an engine's process",
	run: async () => {
		const anywhere = await roundTrips("");
		const onOne = await onOneProcessor(() => roundTrips(", on one processor"));
		return { findings: [...anywhere, ...onOne] };
	},
};

type Call = () => Promise<unknown>;

/** Medians over the rounds, microseconds. */
interface Figures {
	readonly p50: number;
	readonly p99: number;
}

/** @param where suffix of each measure's name */
async function roundTrips(where: string): Promise<Finding[]> {
	const folder = scratchFolder();
	const log = () => undefined;
	const [plugins_dir, runtime_dir] = [join(folder, "plugins.d"), join(folder, "run")];
	const catalog = loadCatalog({ built_in: BUILT_IN, kindOf: () => ({}), plugins_dir, runtime_dir, log });
	const host = createEngineHost({ catalog, log, core_version: VERSION });
	const settings = { key: "bench", environment: {}, reads: [], secrets: [] };
	const [totp, keyvalue] = [host.pool("totp", settings), host.pool("keyvalue", settings)];
	const ping: Call = () => totp.call("ping", {});
	const generate: Call = () => keyvalue.call("generate", { role: "readonly", ttl: "1h" });
	const findings: Finding[] = [
		...judge(`ping of totp${where}`, await figures(ping)),
		...judge(`generate of keyvalue${where}`, await figures(generate)),
		{ measure: `p50, a bare Node program that echoes a line${where}`, value: await bareEcho(folder), unit: "µs" },
	];
	await host.close();
	catalog.close();
	return findings;
}

/** Keeps this process, and those it starts, on one processor meanwhile. */
async function onOneProcessor<Value>(measure: () => Promise<Value>): Promise<Value> {
	const taskset = (...args: string[]) => execFileSync("taskset", ["-c", "-p", ...args], { encoding: "utf8" });
	const pid = String(process.pid);
	const list = taskset(pid).trim().split(" ").at(-1) ?? "";
	taskset("-a", list.split(/[-,]/)[0] ?? "", pid);
	try {
		return await measure();
	} finally {
		taskset("-a", list, pid);
	}
}

/** The machine's own time, microseconds: the median with a program that is started like an engine and only echoes. */
async function bareEcho(cwd: string): Promise<number> {
	const child = spawnEngine(ECHO, {}, cwd);
	const { p50 } = await figures(async () => {
		const answer = once(child.stdout, "data");
		child.stdin.write('{"method":"ping","params":{}}\n');
		await answer;
	});
	child.stdin.end();
	await child;
	return p50;
}

function judge(name: string, { p50, p99 }: Figures): Finding[] {
	return [
		{ measure: `p50, ${name}`, value: p50, unit: "µs", target: { atMost: MAX_P50_US } },
		{ measure: `p99, ${name}`, value: p99, unit: "µs" },
	];
}

/** Measures after a round that starts and warms up the process. */
async function figures(call: Call): Promise<Figures> {
	await latencies(call);
	const rounds: number[][] = [];
	for (let round = 0; round < ROUNDS; round++) rounds.push(await latencies(call));
	const over = (share: number) => median(rounds.map((values) => quantile(values, share)));
	return { p50: over(0.5), p99: over(0.99) };
}

/** Time of each call, microseconds. */
async function latencies(call: Call): Promise<number[]> {
	const values: number[] = [];
	while (values.length < CALLS) {
		const started = performance.now();
		await call();
		values.push((performance.now() - started) * 1000);
	}
	return values;
}
