import { createSemaphore } from "../../semaphore.ts";
import { closing, storeAway } from "../answers.ts";
import type { Session } from "./connection.ts";
import { harmless } from "./failure.ts";
import type { Link } from "./link.ts";

/** Connections that read for requests; for long questions; and for questions that read everything, which would keep the others waiting. */
export const LANES = { requests: 2, long: 1, everything: 1 } as const;

/** Begins a transaction that reads one state of the database. */
export const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Name of a lane. */
export type LaneName = keyof typeof LANES;

/** Connections that questions take in turn. */
export interface Lane {
	/** Runs a question on a free connection, over one state of the database. @throws AppError store_unavailable while there is none */
	ask<Result>(question: (session: Session) => Promise<Result>): Promise<Result>;
	/** Lets the questions that were asked end, and takes no more. */
	close(): Promise<void>;
}

/**
 * Makes a lane.
 * @param keepsSlot true for reads that an embedded store answers immediately: their requests keep their slots
 */
export function createLane(links: readonly Link[], keepsSlot: boolean): Lane {
	const free = [...links];
	const turns = createSemaphore(links.length);
	let isClosing = false;
	/** Takes one that has a connection. */
	const take = () => {
		const at = free.findLastIndex((link) => link.isUp());
		return at < 0 ? undefined : free.splice(at, 1)[0];
	};
	return {
		async ask(question) {
			if (isClosing) throw closing();
			const release = await turns.acquire({ keepsSlot });
			const link = take();
			try {
				if (link === undefined) throw storeAway();
				return await link.transaction(SNAPSHOT, () => question(link));
			} catch (error) {
				throw harmless(error);
			} finally {
				if (link !== undefined) free.push(link);
				release();
			}
		},
		async close() {
			isClosing = true;
			await Promise.all(links.map(() => turns.acquire()));
		},
	};
}
