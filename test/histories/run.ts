import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "../faults/random.ts";
import { api } from "../harness/client.ts";
import { secretPath } from "../harness/fixtures.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { findLost, findTwoHolders } from "./credentials.ts";
import { findLogGaps, findSteps, findVersionGaps } from "./growing.ts";
import type { Operation } from "./history.ts";
import { KEYS, load } from "./load.ts";
import { type Disturbance, disturb } from "./nemesis.ts";
import { findDisorder } from "./roles.ts";
import { createWorld, type World } from "./world.ts";

/** Options of a run. */
interface RunOptions {
	readonly seed: number;
	readonly seconds: number;
	/** A fault of all servers. */
	readonly fault?: string;
	/** Disturbances to choose from. */
	readonly acts?: readonly Disturbance[];
}

/** A run, and what in it contradicts a promise. */
interface Run {
	readonly found: readonly string[];
	readonly operations: readonly Operation[];
	/** Number of each disturbance. */
	readonly acts: ReadonlyMap<Disturbance, number>;
}

/** Milliseconds for servers to become ready, and to end what is due, after the last disturbance. */
const CALM_MS = 60_000;

/** Lets clients of three servers work while the servers and their database are disturbed, and checks every answer. */
export async function runHistory({ seed, seconds, fault, acts }: RunOptions): Promise<Run> {
	const cluster = await startCluster(fault);
	await using _close = { [Symbol.asyncDispose]: cluster.close };
	const world = await createWorld(cluster);
	const signal = AbortSignal.timeout(seconds * 1000);
	const [counts] = await Promise.all([disturb(cluster, seededRandom(seed), signal, acts), load(world, seed, signal)]);
	const unready = await calm(cluster, world);
	await readAll(cluster, world);
	const log = await cluster.log();
	const { operations } = world;
	const found = [
		...unready,
		...operations.filter(({ status }) => status === 500).map(({ kind }) => `${kind} answered 500`),
		...findSteps(operations),
		...findDisorder(operations),
		...findLogGaps(operations, log),
		...findVersionGaps(log),
		...findTwoHolders(await cluster.removals()),
		...findLost(operations, log, await cluster.names()),
		...(await findBrokenChain(cluster, world)),
	];
	return { found, operations, acts: counts };
}

/** Claims of servers that have ended last for minutes. */
const RELEASE = `DELETE FROM svc.lease_claim WHERE node_id NOT IN
	(SELECT id FROM svc.node WHERE seen_at > clock_timestamp() - interval '5 s')`;

/** Credentials that a server should have revoked by now. */
const DUE = `FROM svc.lease WHERE state = 'revoking' OR (state = 'active'
	AND expires_at < to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

/** Waits until all servers are ready and nothing is due. @returns what did not come to pass */
async function calm({ nodes, runSql }: Cluster, { sendTo, admin: { token } }: World): Promise<string[]> {
	const within = async (what: string, isSo: () => Promise<boolean>) => {
		for (const end = performance.now() + CALM_MS; !(await isSo()); await pause(200))
			if (performance.now() > end) return [what];
		return [];
	};
	const unready = nodes.map((_, node) =>
		within(
			`server ${node} is not ready`,
			async () => (await sendTo(node, { method: "GET", path: "/health?ready=true", token })).status === 200,
		),
	);
	const isDone = async () => {
		runSql(RELEASE);
		return runSql(`SELECT count(*) ${DUE}`) === "0";
	};
	const late = [...(await Promise.all(unready)).flat(), ...(await within("credentials are due, and stay", isDone))];
	const rows =
		late.length === 0 ? "" : runSql(`SELECT name, state, attempts, due_at, last_error, now() ${DUE} LIMIT 5`);
	return late.map((what) => `${what}: ${rows}`);
}

/** Reads every secret on every server. */
async function readAll({ nodes }: Cluster, { askOf, admin: { token }, slug }: World): Promise<void> {
	for (const node of nodes.keys())
		for (const subject of KEYS)
			await askOf(node, { kind: "read", subject }, { method: "GET", path: secretPath(slug, subject), token });
}

/** Lets every server verify the log, which may take minutes after a long run. */
async function findBrokenChain({ nodes }: Cluster, { admin: { token } }: World): Promise<string[]> {
	const replies = await Promise.all(
		nodes.map(({ server }) => api(server).get<{ status?: string } | undefined>("/audit/verify", { token })),
	);
	return replies.flatMap(({ body }, node) =>
		body?.status === "intact" ? [] : [`server ${node} calls the log ${JSON.stringify(body)}`],
	);
}
