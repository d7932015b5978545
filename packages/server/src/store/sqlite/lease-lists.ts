import type { Database } from "better-sqlite3";
import { type Lease, type LeaseFilter, type ListedLease, OPEN_STATES, type OpenCount } from "../../leases/model.ts";
import { isIn } from "../lease-states.ts";
import { columnsOf } from "../row-kinds.ts";
import { fits } from "./row-guard.ts";
import { createStatements } from "./statements.ts";
import { IN_TIME } from "./time-limit.ts";

/** Questions about leases that may have to read all of them to find rare ones. They run in the reader thread. */
export function leaseLists(db: Database) {
	const prepare = createStatements(db);
	return {
		list(filter: LeaseFilter, before: string, limit: number): ListedLease[] {
			const found = prepare(
				`SELECT ${columnsOf("lease").join(", ")}, NOT ${fits("lease")} AS altered FROM lease WHERE ${among(filter)} AND id < @before ORDER BY id DESC LIMIT @limit`,
			);
			const rows = found.all({ ...filter, before, limit }) as (Lease & { altered: number })[];
			return rows.map((row) => ({ ...row, altered: row.altered === 1 }));
		},
		count(filter: LeaseFilter): number {
			const total =
				filter.realm_id === ""
					? prepare(`SELECT coalesce(sum(count), 0) AS total FROM lease_count WHERE ${matching(filter)}`)
					: prepare(`SELECT count(*) AS total FROM lease WHERE ${among(filter)}`);
			return (total.get(filter) as { total: number }).total;
		},
		openByConfig(): OpenCount[] {
			const found = prepare(
				`SELECT engine, config_realm_id AS realm_id, sum(count) AS open FROM lease_count WHERE ${isIn(OPEN_STATES)} GROUP BY 1, 2 HAVING open > 0`,
			);
			return found.all() as OpenCount[];
		},
		openByRealm(limit: number): OpenCount[] {
			const found = prepare(
				"SELECT engine, realm_id, count(*) AS open FROM lease INDEXED BY lease_open_in_common " +
					"WHERE due_at IS NOT NULL AND config_realm_id = '' GROUP BY 2, 1 ORDER BY open DESC, realm_id, engine LIMIT ?",
			);
			return found.all(limit) as OpenCount[];
		},
	};
}

function matching({ engine, state }: LeaseFilter): string {
	return ["true", ...(engine === "" ? [] : ["engine = @engine"]), ...(state === "" ? [] : ["state = @state"])].join(
		" AND ",
	);
}

/** SQLite uses the indexes of open leases only when the condition says that no others are wanted. */
function among(filter: LeaseFilter): string {
	const { realm_id, state } = filter;
	const isOpen = state !== "" && OPEN_STATES.includes(state);
	return [
		IN_TIME,
		matching(filter),
		...(realm_id === "" ? [] : ["realm_id = @realm_id"]),
		...(isOpen ? ["due_at IS NOT NULL"] : []),
	].join(" AND ");
}
