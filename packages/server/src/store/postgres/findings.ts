import { MAX_ALTERATIONS, SILENT_MS } from "../../nodes/model.ts";
import type { Sql } from "./connection.ts";

/** Alterations of the database that this server knows of. */
export interface Known {
	/** Names them. */
	readonly found: readonly string[];
	/** Notes what another server has found. */
	hear(found: readonly string[]): void;
}

/** Lists what servers have told one another, as a value of a row. */
export const TOLD = `ARRAY(SELECT DISTINCT found FROM alteration LIMIT ${MAX_ALTERATIONS})`;

const TELL = "INSERT INTO alteration (node_id, found) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/** A finding lasts while a server lives that knows of it: those that start when all have ended look for themselves. */
const FORGET = `DELETE FROM alteration WHERE NOT EXISTS (
	SELECT FROM node WHERE id = node_id AND seen_at > clock_timestamp() - interval '${SILENT_MS} ms')`;

/** Forgets what only servers knew that have ended. @param isShared whether any other may live */
export async function forgetFindings(sql: Sql, isShared: boolean): Promise<void> {
	await sql.run(isShared ? FORGET : "DELETE FROM alteration");
}

/** Reads what servers have told one another. */
export async function toldFindings(sql: Pick<Sql, "rows">): Promise<string[]> {
	const [row] = await sql.rows<{ told: string[] }>(`SELECT ${TOLD} AS told`);
	return row?.told ?? [];
}

/** Makes the function that tells what this server knows, and hears what others do. */
export function createExchange(sql: Pick<Sql, "run" | "rows">, known: Known): (node_id: string) => Promise<void> {
	const told = new Set<string>();
	return async (node_id) => {
		known.hear(await toldFindings(sql));
		for (const one of known.found.slice(0, MAX_ALTERATIONS)) {
			if (!told.has(one)) await sql.run(TELL, [node_id, one]);
			told.add(one);
		}
	};
}
