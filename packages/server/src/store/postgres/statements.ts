import { createSemaphore } from "../../semaphore.ts";
import type { Sql } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { harmless } from "./failure.ts";

/**
 * Opens a connection for statements of their own, one at a time: they wait for no change, no question and no disk. After a crash of the database, the last
 * ones may be lost.
 */
export async function openStatements(links: Pick<Connections, "open">): Promise<Sql> {
	const link = await links.open((connection) => connection.script("SET synchronous_commit = off"));
	const turns = createSemaphore(1);
	const inTurn = async <Result>(run: () => Promise<Result>): Promise<Result> => {
		const release = await turns.acquire();
		try {
			return await run();
		} catch (error) {
			throw harmless(error);
		} finally {
			release();
		}
	};
	return {
		rows: (text, values) => inTurn(() => link.rows(text, values)),
		run: (text, values) => inTurn(() => link.run(text, values)),
	};
}
