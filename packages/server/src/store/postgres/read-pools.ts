import { createSemaphore } from "../../semaphore.ts";
import { closing, storeUnavailable } from "../errors.ts";
import type { Session } from "./connection.ts";
import { harmless } from "./failure.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";

/** Connections for the reads of requests, for long reads, and for reads of everything, which would keep the others waiting. */
export const POOL_SIZES = { requests: 2, long: 1, everything: 1 } as const;

/** Begins a transaction that reads one state of the database. */
export const BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Name of a pool. */
export type PoolName = keyof typeof POOL_SIZES;

/** A pool of connections that only read. */
export interface ReadPool {
	/** Runs a question on a free connection, over one state of the database. @throws AppError store_unavailable while there is none */
	ask<Result>(question: (session: Session) => Promise<Result>): Promise<Result>;
	/** Answers the rows of one statement. @throws AppError store_unavailable while there is no connection */
	rows<Row>(statement: string): Promise<Row[]>;
	/** Takes no more questions, and waits for those that run. */
	close(): Promise<void>;
}

/**
 * Makes a pool.
 * @param keepsSlot true for reads that an embedded store answers immediately: their requests keep their slots
 */
export function createReadPool(links: readonly ReconnectingConnection[], keepsSlot: boolean): ReadPool {
	const free = [...links];
	const permits = createSemaphore(links.length);
	let isClosing = false;
	/** Takes one that has a connection. */
	const take = () => {
		const at = free.findLastIndex((link) => link.isUp());
		return at < 0 ? undefined : free.splice(at, 1)[0];
	};
	async function use<Result>(ask: (link: ReconnectingConnection) => Promise<Result>): Promise<Result> {
		if (isClosing) throw closing();
		const release = await permits.acquire({ keepsSlot });
		const link = take();
		try {
			if (link === undefined) throw storeUnavailable();
			return await ask(link);
		} catch (error) {
			throw harmless(error);
		} finally {
			if (link !== undefined) free.push(link);
			release();
		}
	}
	return {
		ask: (question) => use((link) => link.transaction(BEGIN_SNAPSHOT, () => question(link))),
		rows: (statement) => use((link) => link.rows(statement)),
		async close() {
			isClosing = true;
			await Promise.all(links.map(() => permits.acquire()));
		},
	};
}
