import type { Filled, RowLimit } from "../../../limits.ts";
import type { Fullest, RealmStore } from "../../../realms/model.ts";
import { fullestStatements } from "../../fullest.ts";
import type { Sql } from "../connection.ts";

/** Statements by limit; those that name an instant have it as $2. */
const FULLEST = fullestStatements("$1::bigint", "$2");

/** Finds the realms, accounts and machines nearest to their limits. */
export async function fullestOf(sql: Sql, { max, now }: Parameters<RealmStore["fullest"]>[0]): Promise<Fullest> {
	const found: Partial<Fullest> = {};
	for (const [limit, text] of Object.entries(FULLEST) as [RowLimit, string][])
		found[limit] = await sql.rows<Filled>(text, text.includes("$2") ? [max[limit], now] : [max[limit]]);
	return found as Fullest;
}
