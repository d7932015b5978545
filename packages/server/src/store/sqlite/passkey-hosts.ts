import type { Database } from "better-sqlite3";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

/** Question about the hosts of all passkeys, for the reader thread: it reads every factor. */
export function passkeyHosts(db: Database) {
	const prepare = createStatements(db);
	const hosts = `SELECT DISTINCT rp_id FROM ${verified("factor")} WHERE +type = 'passkey' ORDER BY rp_id`;
	return { passkeyHosts: () => prepare(hosts).pluck().all() as string[] };
}
