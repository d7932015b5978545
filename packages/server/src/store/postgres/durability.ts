import type { Durability } from "../../doctor/model.ts";
import type { Sql } from "./connection.ts";

/** The part that the database knows. */
type DatabaseFacts = Omit<Durability, "hosts" | "keeps_history">;

/** Facts that every role may ask for, except for the state of standbys, which is NULL without `pg_monitor`. */
const FACTS = `SELECT current_setting('fsync') = 'on' AS fsync, current_setting('full_page_writes') = 'on' AS full_page_writes,
	current_setting('synchronous_commit') AS synchronous_commit, current_setting('synchronous_standby_names') <> '' AS names_standbys,
	(SELECT count(*) FROM pg_stat_replication) AS standbys,
	(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous_standbys,
	(SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL) AS hidden_standbys,
	(SELECT coalesce(bool_or(ssl), false) FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS is_encrypted,
	floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`;

/** Reads what decides whether the database may lose an answered write. */
export async function readDurability(sql: Sql): Promise<DatabaseFacts> {
	const [facts] = await sql.rows<DatabaseFacts>(FACTS);
	if (facts === undefined) throw new Error("the database answered nothing");
	return facts;
}
