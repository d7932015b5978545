import { setTimeout as wait } from "node:timers/promises";
import type { Ask } from "../exchange.ts";
import { requestsInTurn } from "../load.ts";
import { residentMb } from "../process-usage.ts";
import { type Resident, settle } from "../resident.ts";
import type { Result, Scenario } from "../scenario.ts";
import { type SvcServer, startSvc } from "../svc-server.ts";
import { runWrk, writeScript } from "../wrk.ts";
import { CONNECTIONS } from "./against-bare.ts";

const MAX_IDLE_MB = 160;
const IDLE_S = 30;
const STRETCH = 50_000;
/** After the first, which warms up: from the middle of the second to the middle of the last are 200,000 requests. */
const STRETCHES = 5;
const MAX_GROWTH = 0.1;
/** Growth that levels off is memory put to use; growth that continues is a leak. */
const MAX_LATE_GROWTH = 0.05;
const SLICE_S = 2;
const SAMPLE_EVERY_MS = 100;

/** Resident memory when idle, and its growth with requests of every kind, over HTTPS as in a fresh installation. */
export const MEMORY: Scenario = { name: "memory", title: "resident memory from source, HTTPS", run: memory };

async function memory(): Promise<Result> {
	const server = await startSvc({ protocol: "https" });
	const atStart = residentMb(server.pid);
	await wait(IDLE_S * 1000);
	const idle = residentMb(server.pid);
	const script = writeScript(requestsInTurn(mixture(await settle(server.url))));
	await lowestDuring(server, script);
	const lowest: number[] = [];
	for (let stretch = 0; stretch < STRETCHES; stretch++) lowest.push(await lowestDuring(server, script));
	await server.stop();
	const [first = Number.NaN] = lowest;
	const last = lowest.at(-1) ?? Number.NaN;
	const lateGrowth = Math.min(...lowest.slice(-2)) / Math.min(...lowest.slice(-4, -2)) - 1;
	const growth = "growth over 200,000 mixed requests";
	return {
		findings: [
			{ measure: "at start", value: atStart, unit: "MB", target: { atMost: MAX_IDLE_MB } },
			{ measure: `idle after ${IDLE_S} s`, value: idle, unit: "MB", target: { atMost: MAX_IDLE_MB } },
			{ measure: growth, value: last / first - 1, unit: "ratio", target: { atMost: MAX_GROWTH } },
			{
				measure: "growth of the last two stretches over the two before",
				value: lateGrowth,
				unit: "ratio",
				target: { atMost: MAX_LATE_GROWTH },
			},
			...lowest.map((value, at) => ({ measure: `lowest of ${stretchName(at)} requests`, value, unit: "MB" as const })),
		],
	};
}

function stretchName(at: number): string {
	return [at + 1, at + 2].map((times) => (times * STRETCH).toLocaleString("en")).join(" to ");
}

/**
 * Sends a stretch of requests and returns the lowest resident memory meanwhile, MB: garbage comes and goes, so the lowest shows what stays.
 * @throws Error when more requests were refused than are wrong in the mixture
 */
async function lowestDuring(server: SvcServer, script: string): Promise<number> {
	let lowest = Number.POSITIVE_INFINITY;
	const sampler = setInterval(() => {
		lowest = Math.min(lowest, residentMb(server.pid));
	}, SAMPLE_EVERY_MS);
	try {
		for (let sent = 0; sent < STRETCH; ) {
			const { requests, refused } = await runWrk({ server, script, connections: CONNECTIONS, seconds: SLICE_S });
			if (refused > requests * 0.25) throw new Error(`${refused} of ${requests} mixed requests were refused`);
			sent += requests;
		}
	} finally {
		clearInterval(sampler);
	}
	return lowest;
}

/** Reads, writes, lists, encryption, events and errors: ten in turn, of which two are wrong, over a thousand keys. */
function mixture({ token, slug, key }: Resident): [Ask, ...Ask[]] {
	const realm = `/api/v1/realms/${slug}`;
	const get = (path: string): Ask => ({ method: "GET", path, token });
	const post = (path: string, body: object): Ask => ({ method: "POST", path, token, body });
	const value = "a value of the mixture";
	const turn = (at: number): [Ask, ...Ask[]] => [
		get(`${realm}/secrets/${key}`),
		post(`${realm}/secrets`, { key: `MIXED_${at}`, value }),
		get(`${realm}/secrets/${key}`),
		get(`${realm}/secrets?limit=10`),
		get(`${realm}/secrets/ABSENT_${at}`),
		post("/api/v1/encrypt", { value }),
		get(`${realm}/secrets/${key}?env=dev`),
		get("/api/v1/audit/events?limit=5"),
		{ method: "GET", path: `${realm}/secrets/${key}`, token: `svc_${at}` },
		post(`${realm}/secrets`, { key: `MIXED_${at}`, value, comment: "written twice" }),
	];
	const [first, ...rest] = Array.from({ length: 1000 }, (_, at) => turn(at)).flat();
	return first === undefined ? turn(0) : [first, ...rest];
}
