import { decideToken } from "../../../tokens/decide.ts";
import { notExpiredAt } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { LINEAGE } from "../reads/tokens.ts";

/** Maximum number of tokens forgotten in one transaction. */
const AT_ONCE = 1000;

/** Makes the operations on API tokens. */
export function tokenWrites(db: Change): Async<Implementations<"write">["tokens"]> {
	const forget = (table: "api_token" | "machine_token", before: string) =>
		db.remove(table, `id IN (SELECT id FROM ${table} WHERE expires_at < $1 LIMIT ${AT_ONCE})`, [before]);
	return {
		async create(token, event) {
			const { user_id, created_at } = token;
			const decision = decideToken({
				live: await db.count("api_token", `user_id = $1 AND ${notExpiredAt("$2")}`, [user_id, created_at]),
				expired: await db.count("api_token", "user_id = $1 AND expires_at <= $2", [user_id, created_at]),
			});
			if (decision.outcome !== "done") return decision.outcome;
			await db.insert("api_token", token);
			await db.remove(
				"api_token",
				"id IN (SELECT id FROM api_token WHERE user_id = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3)",
				[user_id, created_at, decision.forgotten],
			);
			db.append(event);
			return "done";
		},
		forgetExpired: async (before) => (await forget("api_token", before)) + (await forget("machine_token", before)),
		async revoke({ id, user_id, within }, event) {
			if (!(await db.has("api_token", "id = $1 AND user_id = $2", [id, user_id]))) return "none";
			if (within !== undefined && !(await isUnderneath(db, id, within))) return "outside";
			const also_ended = (await db.remove("api_token", `id IN (${LINEAGE})`, [id])) - 1;
			db.append(event, also_ended === 0 ? {} : { also_ended });
			return "done";
		},
		async used({ id, at }) {
			const used = await db.update("api_token", { last_used_at: at }, "id = $1", [id]);
			if (used === 0) await db.update("machine_token", { last_used_at: at }, "id = $1", [id]);
		},
	};
}

/** Tells whether a token is another one, or was made by it. */
async function isUnderneath(db: Change, id: string, within: string): Promise<boolean> {
	const found = await db.sql.rows(
		`WITH RECURSIVE makers (id) AS (SELECT $1::text COLLATE "C" UNION SELECT maker_id FROM makers JOIN api_token USING (id))
		SELECT 1 FROM makers WHERE id = $2`,
		[id, within],
	);
	return found.length > 0;
}
