import { closing, storageUnavailable } from "../answers.ts";
import type { Connection } from "./connection.ts";

/** Connections that read for requests; for long questions; and for questions that read everything, which would keep the others waiting. */
export const LANES = { requests: 2, long: 1, everything: 1 } as const;

/** Name of a lane. */
export type LaneName = keyof typeof LANES;

/** Connections that questions take in turn. */
export interface Lane {
	/** Runs a question on a free connection, over one state of the database. */
	ask<Result>(question: (connection: Connection) => Promise<Result>): Promise<Result>;
	/** Lets the questions that were asked end, and takes no more. */
	close(): Promise<void>;
}

/** Makes a lane. @param isUsable false once a connection has ended */
export function createLane(connections: readonly Connection[], isUsable: () => boolean): Lane {
	const free = [...connections];
	const waiting: ((connection: Connection) => void)[] = [];
	let isClosing = false;
	const take = async () => free.pop() ?? new Promise<Connection>((resolve) => void waiting.push(resolve));
	const give = (connection: Connection) => {
		const next = waiting.shift();
		if (next === undefined) free.push(connection);
		else next(connection);
	};
	return {
		async ask(question) {
			if (!isUsable()) throw storageUnavailable();
			if (isClosing) throw closing();
			const connection = await take();
			try {
				return await connection.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", () =>
					question(connection),
				);
			} finally {
				give(connection);
			}
		},
		async close() {
			isClosing = true;
			await Promise.all(connections.map(take));
		},
	};
}
