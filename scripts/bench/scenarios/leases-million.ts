import { setTimeout as wait } from "node:timers/promises";
import { BATCH } from "../../../packages/server/src/leases/target-queue.ts";
import { openSqliteStore } from "../../../packages/server/src/store/sqlite/store.ts";
import { system } from "../../../packages/server/src/system.ts";
import { copyLeases, type Ledger, makeLedger } from "../ledger.ts";
import { residentMb } from "../process-usage.ts";
import { startRedis } from "../redis.ts";
import { median, quantile } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { startSvc } from "../svc-server.ts";
import { startTimes } from "./scale.ts";

const TARGETS = 5;
const LEASES = 1_000_000;
const MANY = `${LEASES.toLocaleString("en")} open leases`;
const HOUR_MS = 60 * 60 * 1000;
const MAX_MB = 250;
const WATCHED_S = 15;
const SAMPLE_EVERY_MS = 100;
const MAX_SCAN_MS = 5;
const SCANS = 1000;

/** Start, memory and the query for due leases, with very many open leases. Their stores are away. */
export const LEASES_MILLION: Scenario = {
	name: "leases-million",
	title: `${MANY} at ${TARGETS} targets`,
	run: leasesMillion,
};

async function leasesMillion(): Promise<Result> {
	const stores = await Promise.all(Array.from({ length: TARGETS }, startRedis));
	const ledger = await makeLedger(stores);
	await Promise.all(stores.map((store) => store.stop()));
	const few = `${TARGETS} open leases`;
	const withFew = [...(await startTimes(few, ledger)), ...(await memory(few, ledger))];
	const started = performance.now();
	// None of them falls due during this run.
	const due = { fromMs: Date.now() + HOUR_MS, spanMs: 23 * HOUR_MS };
	await copyLeases(ledger, { leases: ledger.leases, from: 0, count: LEASES / TARGETS, due });
	const madeInS = (performance.now() - started) / 1000;
	return {
		findings: [
			...withFew,
			...(await startTimes(MANY, ledger)),
			...(await memory(MANY, ledger)),
			...(await scans(ledger, due.fromMs)),
			{ measure: "making the leases", value: madeInS, unit: "s" },
		],
	};
}

async function memory(name: string, { directory }: Ledger): Promise<Finding[]> {
	const server = await startSvc({ protocol: "http", data: directory });
	let highest = residentMb(server.pid);
	const atStart = highest;
	for (let sample = 0; sample < (WATCHED_S * 1000) / SAMPLE_EVERY_MS; sample++) {
		await wait(SAMPLE_EVERY_MS);
		highest = Math.max(highest, residentMb(server.pid));
	}
	await server.stop();
	return [
		{ measure: `resident memory at start, ${name}`, value: atStart, unit: "MB" },
		{
			measure: `highest resident memory in ${WATCHED_S} s, ${name}`,
			value: highest,
			unit: "MB",
			target: { atMost: MAX_MB },
		},
	];
}

/** The reaper's queries of the store at each look, as it makes them: the targets, what is due at each, when the next is due. */
async function scans({ directory }: Ledger, firstDueMs: number): Promise<Finding[]> {
	const onFailure = (error: Error) => {
		throw error;
	};
	const { leases, close } = await openSqliteStore({ directory, now: system.now(), onFailure });
	const [target = ""] = await leases.openTargets();
	const look = async () => {
		for (const open of await leases.openTargets()) await leases.due(open, firstDueMs - 1, BATCH);
		await leases.nextDue();
	};
	const findings = [
		...(await timed(`a look at ${TARGETS} targets, nothing due`, look)),
		...(await timed(`a batch of ${BATCH} that are due`, async () => leases.due(target, firstDueMs + HOUR_MS, BATCH))),
	];
	await close();
	return findings;
}

/** Runs each in a turn of the event loop, and so in a transaction, of its own. */
async function timed(name: string, scan: () => Promise<unknown>): Promise<Finding[]> {
	const times: number[] = [];
	for (let at = 0; at < SCANS; at++) {
		const started = performance.now();
		await scan();
		times.push(performance.now() - started);
		await wait(0);
	}
	return [
		{ measure: `p99, ${name}`, value: quantile(times, 0.99), unit: "ms", target: { atMost: MAX_SCAN_MS } },
		{ measure: `p50, ${name}`, value: median(times), unit: "ms" },
	];
}
