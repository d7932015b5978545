import type { Database } from "better-sqlite3";
import type { ApiToken } from "../../tokens/model.ts";
import { columnsOf } from "../row-kinds.ts";
import { verified } from "./row-guard.ts";
import { createStatements } from "./statements.ts";

const lineageIn = (table: string) => `WITH RECURSIVE lineage (id) AS (
	SELECT id FROM ${table} WHERE id = @id
	UNION SELECT made.id FROM lineage JOIN ${table} AS made ON made.maker_id = lineage.id
) `;

/** Begins a statement about `lineage`: the token @id and all tokens made by it, directly or through others, altered rows included: all of them end together. */
export const LINEAGE = lineageIn("api_token");

const TOKENS = verified("api_token");
const VERIFIED_LINEAGE = lineageIn(TOKENS);

/** Questions about the tokens that a token made, which may be many. They run in the reader thread, which also opens files of an older schema. */
export function tokenLineage(db: Database) {
	const prepare = createStatements(db);
	const list = `${VERIFIED_LINEAGE} SELECT ${columnsOf("api_token").join(", ")} FROM ${TOKENS} WHERE id IN (SELECT id FROM lineage) AND id > @after ORDER BY id LIMIT @limit`;
	const count = `${VERIFIED_LINEAGE} SELECT count(*) FROM lineage`;
	return {
		listLineage: (id: string, after: string, limit: number) => prepare(list).all({ id, after, limit }) as ApiToken[],
		countLineage: (id: string) => prepare(count).pluck().get({ id }) as number,
	};
}
