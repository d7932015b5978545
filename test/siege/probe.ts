/**
 * An ordinary client, as a separate program. It asks for a secret at a constant rate, whether or not the last answer has come: on connections
 * that it keeps, and on a new one each time. Reads its order as JSON from stdin, reports its beginning, and reports each window after its last
 * answer. A failure counts as an answer slower than its patience.
 */
import { Agent, request } from "node:https";
import { json } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

/** A probe's order. */
export interface ProbeOrder {
	/** Origin, such as `https://127.0.0.1:40123`. */
	readonly url: string;
	readonly path: string;
	readonly token: string;
	/** Address from which it asks. */
	readonly source: string;
	readonly windows: number;
	readonly windowMs: number;
	/** Requests per second on kept connections, and on new ones. */
	readonly keptPerSecond: number;
	readonly freshPerSecond: number;
}

/** A probe's observations of the requests in a window: milliseconds from the time when each was due. */
export interface Seen {
	readonly kept: readonly number[];
	readonly fresh: readonly number[];
	readonly failures: number;
}

/** Milliseconds to wait for an answer. */
export const PATIENCE_MS = 10_000;

/** Number of kept connections; further requests wait for one of them, and that wait counts. */
const KEPT = 32;

if (import.meta.main) {
	const order = (await json(process.stdin)) as ProbeOrder;
	await probe(order, (seen) => void process.stdout.write(`${JSON.stringify(seen)}\n`));
	process.exit();
}

async function probe(order: ProbeOrder, tell: (line: object) => void): Promise<void> {
	const { source: localAddress, windows, windowMs, keptPerSecond, freshPerSecond } = order;
	const options = { localAddress, rejectUnauthorized: false };
	const kept = new Agent({ ...options, keepAlive: true, maxSockets: KEPT });
	// Without a session to resume, like a new client.
	const fresh = new Agent({ ...options, keepAlive: false, maxCachedSessions: 0 });
	const ask = asker(order);
	const started = performance.now();
	tell({ began: true });
	const telling: Promise<void>[] = [];
	for (let at = 0; at < windows; at++) {
		const from = started + at * windowMs;
		const [ofKept, ofFresh] = [
			atRate(from, windowMs, keptPerSecond, (due) => ask(kept, due)),
			atRate(from, windowMs, freshPerSecond, (due) => ask(fresh, due)),
		];
		telling.push(
			Promise.all([ofKept, ofFresh]).then(([kept, fresh]) => {
				const failures = [...kept, ...fresh].filter((took) => took === PATIENCE_MS).length;
				tell({ kept, fresh, failures } satisfies Seen);
			}),
		);
		await wait(Math.max(0, from + windowMs - performance.now()));
	}
	await Promise.all(telling);
}

/** Asks at a constant rate from this time on. Returns the duration of each request. */
async function atRate(from: number, forMs: number, perSecond: number, ask: (due: number) => Promise<number>) {
	const all: Promise<number>[] = [];
	for (let at = 0; at < (perSecond * forMs) / 1000; at++) {
		const due = from + (at * 1000) / perSecond;
		await wait(Math.max(0, due - performance.now()));
		all.push(ask(due));
	}
	return Promise.all(all);
}

/** Makes a function that asks once and returns the milliseconds from the due time to the answer's end. */
function asker({ url, path, token }: ProbeOrder) {
	const headers = { authorization: `Bearer ${token}` };
	return (agent: Agent, due: number): Promise<number> =>
		new Promise((resolve) => {
			const fail = () => resolve(PATIENCE_MS);
			const signal = AbortSignal.timeout(PATIENCE_MS);
			const outgoing = request(url + path, { agent, headers, signal }, (incoming) => {
				incoming.resume().once("error", fail);
				incoming.once("end", () => {
					const took = performance.now() - due;
					resolve(incoming.statusCode === 200 ? Math.min(took, PATIENCE_MS) : PATIENCE_MS);
				});
			});
			outgoing.once("error", fail);
			outgoing.end();
		});
}
