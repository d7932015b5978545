import { MAX_ALTERATIONS, SILENT_MS } from "../../nodes/model.ts";
import type { Sql } from "./connection.ts";

/** Alterations of the database that this server knows of. */
export interface Known {
	/** Names them. */
	readonly found: readonly string[];
	/** Notes findings of another server. */
	learn(found: readonly string[]): void;
}

/** Lists the findings that servers have reported, as a value of a row. */
export const REPORTED = `ARRAY(SELECT DISTINCT found FROM alteration LIMIT ${MAX_ALTERATIONS})`;

const REPORT = "INSERT INTO alteration (node_id, found) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/** Removes the findings of servers that have ended. A server that starts after all others have ended checks the database itself. */
const FORGET = `DELETE FROM alteration WHERE NOT EXISTS (
	SELECT FROM node WHERE id = node_id AND seen_at > clock_timestamp() - interval '${SILENT_MS} ms')`;

/** Removes findings that no running server has. @param isShared whether another server may be running */
export async function forgetFindings(sql: Sql, isShared: boolean): Promise<void> {
	await sql.run(isShared ? FORGET : "DELETE FROM alteration");
}

/** Reads the findings that servers have reported. */
export async function reportedFindings(sql: Pick<Sql, "rows">): Promise<string[]> {
	const [row] = await sql.rows<{ reported: string[] }>(`SELECT ${REPORTED} AS reported`);
	return row?.reported ?? [];
}

/** Makes the function that reports the findings of this server and learns those of the others. */
export function createExchange(sql: Pick<Sql, "run" | "rows">, known: Known): (node_id: string) => Promise<void> {
	const reported = new Set<string>();
	return async (node_id) => {
		known.learn(await reportedFindings(sql));
		for (const one of known.found.slice(0, MAX_ALTERATIONS)) {
			if (!reported.has(one)) await sql.run(REPORT, [node_id, one]);
			reported.add(one);
		}
	};
}
