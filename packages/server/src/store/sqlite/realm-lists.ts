import type { Database } from "better-sqlite3";
import type { Fullest, RealmLimits } from "../../realms/model.ts";
import { createStatements } from "./statements.ts";

/** Realms, and accounts, that are named at most. */
const MOST = 20;

/** Questions about all realms. They run in the reader thread. */
export function realmLists(db: Database) {
	const prepare = createStatements(db);
	return {
		fullest(limits: RealmLimits): Fullest {
			const realms = prepare(
				"SELECT slug AS name, bytes AS used, coalesce(own.realm_bytes, @realm_bytes) AS max " +
					"FROM realm LEFT JOIN account_limit AS own ON own.user_id = realm.user_id WHERE bytes > 0 " +
					`ORDER BY CAST(bytes AS REAL) / max(1, coalesce(own.realm_bytes, @realm_bytes)) DESC LIMIT ${MOST}`,
			);
			const accounts = prepare(
				"SELECT email AS name, owned.used, coalesce(own.realms, @realms_per_account) AS max " +
					"FROM (SELECT user_id, count(*) AS used FROM realm GROUP BY user_id) AS owned " +
					"JOIN account ON account.id = owned.user_id LEFT JOIN account_limit AS own ON own.user_id = owned.user_id " +
					`ORDER BY CAST(owned.used AS REAL) / max(1, coalesce(own.realms, @realms_per_account)) DESC LIMIT ${MOST}`,
			);
			return { realms: realms.all(limits), accounts: accounts.all(limits) } as Fullest;
		},
	};
}
