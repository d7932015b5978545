import { type DataSet, dataSet, keyOf, slugOf } from "../data-set.ts";
import { randomReads } from "../load.ts";
import { compare, median } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { startSvc } from "../svc-server.ts";
import { writeScript } from "../wrk.ts";
import { CONNECTIONS } from "./against-bare.ts";

const SMALL = { realms: 100, secretsPerRealm: 100 };
const LARGE = { realms: 10_000, secretsPerRealm: 100 };
const STARTS = 5;
/** Long enough to read nearly every realm once: the first read opens its key. */
const WARM_UP_S = 10;
const MAX_START_S = 1;
const MAX_P50_RATIO = 1.5;

/** Reads all over a small and a large data set, and the server's start on each. */
export const SCALE: Scenario = {
	name: "scale",
	title: "reads all over 1,000,000 secrets in 10,000 realms",
	run: scale,
};

async function scale(): Promise<Result> {
	const small = await dataSet(SMALL);
	const large = await dataSet(LARGE);
	const starts = [await startTimes("10,000 secrets", small), await startTimes("1,000,000 secrets", large)];
	const servers = await Promise.all([small, large].map(({ directory: data }) => startSvc({ protocol: "http", data })));
	const [base, ours] = [small, large].map((data, at) => ({
		server: servers[at] ?? { url: "", pid: 0 },
		script: writeScript(randomReads({ ...data, path: pathOf })),
		connections: CONNECTIONS,
	}));
	if (base === undefined || ours === undefined) throw new Error("two sizes are compared");
	const comparison = await compare(base, ours, WARM_UP_S);
	await Promise.all(servers.map((server) => server.stop()));
	return {
		findings: [
			{
				measure: "p50 to that of 10,000",
				value: comparison.ratios.p50Ms,
				unit: "ratio",
				target: { atMost: MAX_P50_RATIO },
			},
			...starts.flat(),
			...(large.madeInS === 0 ? [] : [making(large)]),
		],
		comparison: { ...comparison, baseName: "ours, 10,000 secrets" },
	};
}

function making({ madeInS }: DataSet): Finding {
	return { measure: "making 1,000,000 secrets", value: madeInS, unit: "s" };
}

const pathOf = (realm: string, secret: string): string => `/api/v1/realms/${slugOf(realm)}/secrets/${keyOf(secret)}`;

/** Measures the time from spawning the server until it listens, on a data directory. @param name of its content */
export async function startTimes(name: string, { directory }: Pick<DataSet, "directory">): Promise<Finding[]> {
	const seconds: number[] = [];
	for (let start = 0; start < STARTS; start++) {
		const server = await startSvc({ protocol: "http", data: directory });
		seconds.push(server.startMs / 1000);
		await server.stop();
	}
	return [
		{ measure: `start to listening, ${name}`, value: median(seconds), unit: "s", target: { atMost: MAX_START_S } },
		{ measure: `slowest of ${STARTS} starts, ${name}`, value: Math.max(...seconds), unit: "s" },
	];
}
