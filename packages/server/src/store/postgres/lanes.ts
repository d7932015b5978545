import { createSemaphore } from "../../semaphore.ts";
import { closing, storageUnavailable } from "../answers.ts";
import type { Connection } from "./connection.ts";

/** Connections that read for requests; for long questions; and for questions that read everything, which would keep the others waiting. */
export const LANES = { requests: 2, long: 1, everything: 1 } as const;

/** Begins a transaction that reads one state of the database. */
export const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Name of a lane. */
export type LaneName = keyof typeof LANES;

/** Connections that questions take in turn. */
export interface Lane {
	/** Runs a question on a free connection, over one state of the database. */
	ask<Result>(question: (connection: Connection) => Promise<Result>): Promise<Result>;
	/** Lets the questions that were asked end, and takes no more. */
	close(): Promise<void>;
}

/**
 * Makes a lane.
 * @param isUsable false once a connection has ended
 * @param keepsSlot true for reads that an embedded store answers at once: their requests keep their slots
 */
export function createLane(connections: readonly Connection[], isUsable: () => boolean, keepsSlot: boolean): Lane {
	const free = [...connections];
	const turns = createSemaphore(connections.length);
	let isClosing = false;
	return {
		async ask(question) {
			if (!isUsable()) throw storageUnavailable();
			if (isClosing) throw closing();
			const release = await turns.acquire({ keepsSlot });
			const connection = free.pop() as Connection;
			try {
				return await connection.transaction(SNAPSHOT, () => question(connection));
			} finally {
				free.push(connection);
				release();
			}
		},
		async close() {
			isClosing = true;
			await Promise.all(connections.map(() => turns.acquire()));
		},
	};
}
