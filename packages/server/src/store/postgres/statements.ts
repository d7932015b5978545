import { createSemaphore } from "../../semaphore.ts";
import type { Sql } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { harmless } from "./failure.ts";

/** Statements of their own, one at a time. */
export interface Statements extends Sql {
	/** Runs work when its turn has come. */
	alone<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/**
 * Opens a connection for statements of their own: they wait for no change, no question and no disk. After a crash of the database, the last ones may be
 * lost.
 */
export async function openStatements(links: Pick<Connections, "open">): Promise<Statements> {
	const link = await links.open((connection) => connection.script("SET synchronous_commit = off"));
	const turns = createSemaphore(1);
	const alone: Statements["alone"] = async (work) => {
		const release = await turns.acquire();
		try {
			return await work(link);
		} catch (error) {
			throw harmless(error);
		} finally {
			release();
		}
	};
	return {
		alone,
		rows: (text, values) => alone((sql) => sql.rows(text, values)),
		run: (text, values) => alone((sql) => sql.run(text, values)),
	};
}
