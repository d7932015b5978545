import type { Database } from "better-sqlite3";
import type { Implementations } from "../store.ts";
import { createStatements } from "./statements.ts";

const OF_REALMS =
	"SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state <> 'active') AS retired FROM keyring WHERE realm_id <> ''";

/** Question about the keys of all realms. */
export function keyCounts(db: Database): Implementations<"scan">["keys"] {
	const prepare = createStatements(db);
	return { countOfRealms: () => prepare(OF_REALMS).get() as { active: number; retired: number } };
}
