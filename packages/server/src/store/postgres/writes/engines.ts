import type { EngineConfigRow } from "../../../engines/model.ts";
import { IS_UNUSED } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";

type Scope = Pick<EngineConfigRow, "engine" | "realm_id">;

const OF_SCOPE = "engine = $1 AND realm_id = $2";

/** Makes the operations on engines' configurations. */
export function engineWrites(db: Change): Async<Implementations<"write">["engines"]> {
	const retire = ({ engine, realm_id }: Scope) =>
		db.update("engine_config", { state: "retired" }, `${OF_SCOPE} AND state = 'active'`, [engine, realm_id]);
	const dropUnused = ({ engine, realm_id }: Scope) =>
		db.remove("engine_config", `${OF_SCOPE} AND ${IS_UNUSED}`, [engine, realm_id]);
	const forget = (engine: string) => db.remove("engine_former_realm", "engine = $1", [engine]);
	return {
		async setConfig(row, event, allowed, keepsFormer = false) {
			const { engine, realm_id } = row;
			if (realm_id !== "" && (await liveRealm(db, realm_id)) === undefined) return "realm_gone";
			await retire(row);
			await add(db, row);
			await dropUnused(row);
			if (realm_id === "" && !keepsFormer) await forget(engine);
			if (allowed !== undefined && !allowed.includes("*"))
				await db.remove("engine_former_realm", "engine = $1 AND realm_id <> ALL($2::text[])", [engine, allowed]);
			db.append(event);
			return "done";
		},
		async removeConfig(scope, event, keepsFormer = false) {
			if ((await retire(scope)) === 0) return false;
			await dropUnused(scope);
			if (scope.realm_id === "" && !keepsFormer) await forget(scope.engine);
			db.append(event);
			return true;
		},
		async keepGenerated(row, event) {
			const kept = `${OF_SCOPE} AND state = $3 AND state <> 'retired'`;
			if (await db.has("engine_config", kept, [row.engine, row.realm_id, row.state])) return false;
			await add(db, row);
			db.append(event);
			return true;
		},
	};
}

async function add(db: Change, row: EngineConfigRow): Promise<void> {
	const [next] = await db.sql.rows<{ ordinal: number }>(
		"SELECT coalesce(max(ordinal), 0) + 1 AS ordinal FROM engine_config",
	);
	await db.insert("engine_config", { ...row, ordinal: next?.ordinal ?? 1 });
}
