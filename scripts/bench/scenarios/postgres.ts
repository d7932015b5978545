import { join } from "node:path";
import { createDatabase, type Postgres, startPostgres } from "../../../test/peers/postgres.ts";
import { sameRequest } from "../load.ts";
import { settle } from "../resident.ts";
import { median } from "../rounds.ts";
import type { Result, Scenario } from "../scenario.ts";
import { type SvcServer, startSvc } from "../svc-server.ts";
import { runWrk, writeScript } from "../wrk.ts";
import { againstBare, CONNECTIONS, KINDS, type Kind } from "./against-bare.ts";
import { ENGINE_KINDS } from "./generate.ts";

/** A database that keeps what it has answered: the measurement is with every flush to the disk. */
const DURABLE = ["fsync=on", "full_page_writes=on", "synchronous_commit=on"];

/** Smallest shares of the bare server's requests per second: two cores have server, database and load. */
const AT_LEAST = { read: 0.05, write: 0.02, "kv-generate": 0.01, "pki-generate": 0.01 } as const;

const NODES = 3;
const [ROUNDS, WARM_UP_S, ROUND_S] = [5, 3, 4];

/** One server on a PostgreSQL on the same machine, and three of them. */
export const POSTGRES: readonly Scenario[] = [
	...Object.entries(AT_LEAST).map(([name, atLeast]) => ({
		name: `postgres-${name}`,
		title: `${kindOf(name).title}, on PostgreSQL, HTTP`,
		run: () => onPostgres((env) => againstBare({ ...kindOf(name), atLeast }, "http", env)),
	})),
	{
		name: "postgres-three",
		title: `audited reads of ${NODES} servers on one PostgreSQL against those of one, HTTP`,
		run: () => onPostgres(threeAgainstOne),
	},
];

function kindOf(name: string): Kind {
	const kind = [...KINDS, ...ENGINE_KINDS].find((one) => one.name === name);
	if (kind === undefined) throw new Error(`there is no kind ${name}`);
	const { p99AtMost: _, ...unpromised } = kind;
	return unpromised;
}

type Environment = Readonly<Record<string, string>>;

/** Measures with a database of its own. */
async function onPostgres(measure: (env: Environment) => Promise<Result>): Promise<Result> {
	const postgres: Postgres = await startPostgres({ settings: DURABLE });
	try {
		return await measure({ SVC_DATABASE_URL: createDatabase(postgres, "svc_bench") });
	} finally {
		await postgres.stop();
	}
}

/** Loads one server, and in turn three with the same number of connections in all. */
async function threeAgainstOne(env: Environment): Promise<Result> {
	const first = await startSvc({ protocol: "http", env });
	const shared = { ...env, SVC_MASTER_KEY_FILE: join(first.data, "master.key") };
	const others = await Promise.all(
		Array.from({ length: NODES - 1 }, () => startSvc({ protocol: "http", env: shared })),
	);
	const { token, slug, key } = await settle(first.url);
	const script = writeScript(sameRequest({ method: "GET", path: `/api/v1/realms/${slug}/secrets/${key}`, token }));
	const perSecond = async (servers: readonly SvcServer[], seconds: number) => {
		const connections = Math.ceil(CONNECTIONS / servers.length);
		const runs = await Promise.all(servers.map((server) => runWrk({ server, script, connections, seconds })));
		return runs.reduce((sum, run) => sum + run.perSecond, 0);
	};
	const all = [first, ...others];
	for (const servers of [[first], all]) await perSecond(servers, WARM_UP_S);
	const ratios: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const one = await perSecond([first], ROUND_S);
		ratios.push((await perSecond(all, ROUND_S)) / one);
	}
	await Promise.all(all.map((server) => server.stop()));
	const measure = `requests per second of ${NODES} servers to those of one`;
	return { findings: [{ measure, value: median(ratios), unit: "ratio", target: { atLeast: 0.75 } }] };
}
