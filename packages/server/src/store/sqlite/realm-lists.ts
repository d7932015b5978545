import type { Database } from "better-sqlite3";
import type { Filled, RowLimit } from "../../limits.ts";
import type { DeletedRealm, Fullest, RealmStore, Restorable } from "../../realms/model.ts";
import { fullestStatements } from "../fullest.ts";
import { UNENDED } from "../shared-sql.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

const FULLEST = fullestStatements("@max", "@now");

/** Deleted realms that can be restored, as the rows are: an account's, or all. */
const restorable = ({ user_id }: Restorable) =>
	`realm WHERE deleted_at > @since${user_id === undefined ? "" : " AND user_id = @user_id"}`;

/** Questions about all realms and accounts. They run in the reader thread. */
export function realmLists(db: Database) {
	const prepare = createStatements(db);
	return {
		deleted(which: Restorable, after: string, limit: number): DeletedRealm[] {
			const page = `SELECT id FROM ${restorable(which)} AND id > @after ORDER BY id LIMIT @limit`;
			const found = prepare(
				"SELECT id, slug, name, description, user_id, created_at, coalesce(deleted_by, '') AS deleted_by, deleted_at " +
					`FROM ${verified("realm")} WHERE id IN (${page}) ORDER BY id`,
			);
			return found.all({ ...which, after, limit }) as DeletedRealm[];
		},
		countDeleted(which: Restorable): number {
			return (prepare(`SELECT count(*) AS total FROM ${restorable(which)}`).get({ ...which }) as { total: number })
				.total;
		},
		unended: () => prepare(UNENDED).pluck().all() as string[],
		fullest({ max, now }: Parameters<RealmStore["fullest"]>[0]): Fullest {
			const ask = (limit: RowLimit) => prepare(FULLEST[limit]).all({ max: max[limit], now }) as Filled[];
			const limits = Object.keys(FULLEST) as RowLimit[];
			return Object.fromEntries(limits.map((limit) => [limit, ask(limit)])) as Fullest;
		},
	};
}
