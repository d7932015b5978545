import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { loadCatalog } from "../../../packages/server/src/engines/host/catalog.ts";
import { createEngineHost } from "../../../packages/server/src/engines/host/host.ts";
import { VERSION } from "../../../packages/server/src/health/build.ts";
import { SHIPPED } from "../../../packages/svc/src/shipped-engines.ts";
import { median, quantile } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { scratchFolder } from "../scratch.ts";

const ROUNDS = 3;
const CALLS = 2000;
const MAX_P50_US = 100;
/** Between two calls of the first kind: the process has answered `describe` by then and waits. */
const PAUSE_MS = 1;

/** A request to a shipped engine's process and its answer, through the host as the core does it, one after the other. */
export const PLUGIN_ROUND_TRIP: Scenario = {
	name: "plugin-round-trip",
	title: "round trip to an engine's process",
	run: roundTrips,
};

type Call = () => Promise<unknown>;

/** Medians over the rounds, microseconds. */
interface Figures {
	readonly p50: number;
	readonly p99: number;
}

async function roundTrips(): Promise<Result> {
	const folder = scratchFolder();
	const log = () => undefined;
	const [plugins_dir, runtime_dir] = [join(folder, "plugins.d"), join(folder, "run")];
	const catalog = loadCatalog({ shipped: SHIPPED, plugins_dir, runtime_dir, log });
	const host = createEngineHost({ catalog, log, core_version: VERSION });
	const settings = { key: "bench", environment: {}, reads: [], secrets: [] };
	const ping: Call = () => host.call("totp", settings, "ping", {});
	const generate: Call = () => host.call("keyvalue", settings, "generate", { role: "readonly", ttl: "1h" });
	const findings: Finding[] = [
		...judge("ping of totp", await figures(ping, PAUSE_MS)),
		...judge("generate of keyvalue", await figures(generate, PAUSE_MS)),
		{
			measure: "p50, ping of totp right after another, behind its describe",
			value: (await figures(ping, 0)).p50,
			unit: "µs",
		},
	];
	await host.close();
	catalog.close();
	return { findings };
}

function judge(name: string, { p50, p99 }: Figures): Finding[] {
	return [
		{ measure: `p50, ${name}`, value: p50, unit: "µs", target: { atMost: MAX_P50_US } },
		{ measure: `p99, ${name}`, value: p99, unit: "µs" },
	];
}

/** After a round that starts and warms the process up. */
async function figures(call: Call, pauseMs: number): Promise<Figures> {
	await latencies(call, pauseMs);
	const rounds: number[][] = [];
	for (let round = 0; round < ROUNDS; round++) rounds.push(await latencies(call, pauseMs));
	const over = (share: number) => median(rounds.map((values) => quantile(values, share)));
	return { p50: over(0.5), p99: over(0.99) };
}

/** How long each call took, microseconds. */
async function latencies(call: Call, pauseMs: number): Promise<number[]> {
	const values: number[] = [];
	while (values.length < CALLS) {
		const started = performance.now();
		await call();
		values.push((performance.now() - started) * 1000);
		if (pauseMs > 0) await wait(pauseMs);
	}
	return values;
}
