import { type Duties, SILENT_MS } from "../../nodes/model.ts";
import type { Sql } from "./connection.ts";
import { harmless } from "./failure.ts";

/** Takes a duty that no server has, or whose server has left or is silent. Two servers that ask at the same time wait for each other. */
const TAKE = `INSERT INTO duty (name, node_id) VALUES ($1, $2)
	ON CONFLICT (name) DO UPDATE SET node_id = excluded.node_id
	WHERE duty.node_id = excluded.node_id OR NOT EXISTS (
		SELECT FROM node WHERE id = duty.node_id AND seen_at > clock_timestamp() - interval '${SILENT_MS} ms')`;

/** Makes the duties of a node. @param sql runs one statement at a time */
export function createDuties(sql: Pick<Sql, "run">, node_id: string): Duties {
	return {
		async take(duty) {
			const taken = sql.run(TAKE, [duty, node_id]).catch((error: unknown) => {
				throw harmless(error);
			});
			return (await taken) > 0;
		},
	};
}
