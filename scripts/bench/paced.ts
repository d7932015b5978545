import { Agent } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { type Ask, exchange } from "./exchange.ts";

/** A load far below the server's capacity, so that it shows the time of an answer and not a queue. */
export interface Pace {
	readonly connections: number;
	/** Milliseconds from one request of a connection to its next; the next waits for a later answer. */
	readonly everyMs: number;
	readonly seconds: number;
}

/**
 * Repeats a request at this pace over plain HTTP. Returns the time of each answer, milliseconds.
 * @throws Error when a request is refused
 */
export async function pacedLatencies(url: string, request: Ask, pace: Pace): Promise<number[]> {
	const end = performance.now() + pace.seconds * 1000;
	return pacedLatenciesUntil(url, request, pace, () => performance.now() >= end);
}

/** Like `pacedLatencies`, until `isOver`. @throws Error when a request is refused */
export async function pacedLatenciesUntil(
	url: string,
	request: Ask,
	pace: Omit<Pace, "seconds">,
	isOver: () => boolean,
): Promise<number[]> {
	const connections = Array.from({ length: pace.connections }, async (_, at) => {
		await wait((at * pace.everyMs) / pace.connections);
		return oneConnection(url, request, pace.everyMs, isOver);
	});
	return (await Promise.all(connections)).flat();
}

async function oneConnection(url: string, request: Ask, everyMs: number, isOver: () => boolean): Promise<number[]> {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	const latencies: number[] = [];
	while (!isOver()) {
		const started = performance.now();
		const { status } = await exchange(url, request, agent);
		if (status !== 200) throw new Error(`a paced request is answered with ${status}`);
		const tookMs = performance.now() - started;
		latencies.push(tookMs);
		await wait(Math.max(0, everyMs - tookMs));
	}
	agent.destroy();
	return latencies;
}
