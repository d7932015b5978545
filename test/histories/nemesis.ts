import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { CHANGES_LOCK } from "../../packages/server/src/store/postgres/locks.ts";
import type { Random } from "../faults/random.ts";
import type { Cluster, Node } from "./cluster.ts";

/** A disturbance, which has ended when it returns. */
type Act = (node: Node, cluster: Cluster, random: Random) => Promise<void>;

/** Milliseconds in which a server commits, unless it has nothing to commit. */
const COMMIT_MS = 500;

/** Disturbances, by name. */
export const ACTS = {
	async kill({ server }) {
		await server.kill("SIGKILL");
		await server.restart();
	},
	async stop({ server }, _, random) {
		process.kill(server.pid, "SIGSTOP");
		await pause(100 + random.below(2000));
		process.kill(server.pid, "SIGCONT");
	},
	async cut({ link }) {
		link.reset();
	},
	async silence({ link }, _, random) {
		link.blackhole();
		await pause(100 + random.below(1500));
		link.reset();
		link.restore();
	},
	/** A change's commit is on its way when the connection breaks, and arrives later. */
	async late({ link }, _, random) {
		const { caught, drop, release } = link.hold("COMMIT", CHANGES_LOCK);
		if (await Promise.race([caught.then(() => true), pause(COMMIT_MS, false)])) {
			drop();
			await pause(300 + random.below(1000));
			await release();
		}
		link.restore();
	},
	async crash(_node, { postgres }) {
		await postgres.crash();
		await postgres.start();
	},
} as const satisfies Record<string, Act>;

/** Name of a disturbance. */
export type Disturbance = keyof typeof ACTS;

/** Milliseconds of peace between two disturbances. */
const PEACE_MS = 800;

/**
 * Disturbs the cluster until the signal.
 * @param names those to choose from
 * @returns how often each took place
 */
export async function disturb(
	cluster: Cluster,
	random: Random,
	signal: AbortSignal,
	names = Object.keys(ACTS) as readonly Disturbance[],
): Promise<Map<Disturbance, number>> {
	const counts = new Map<Disturbance, number>();
	for (;;) {
		await pause(random.below(PEACE_MS), undefined, { signal }).catch(() => undefined);
		if (signal.aborted) return counts;
		const name = names[random.below(names.length)];
		const node = cluster.nodes[random.below(cluster.nodes.length)];
		if (name === undefined || node === undefined) return counts;
		await ACTS[name](node, cluster, random);
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
}
