import type { EngineConfigRow } from "../../../engines/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import type { StoredRows } from "../stored-rows.ts";

/** Answers questions about engines' configurations. */
export function engineReads(db: Snapshot): Async<Implementations<"read">["engines"]> {
	return {
		async config(engine, realm_id, state) {
			const current = "engine = $1 AND realm_id = $2 AND state = $3";
			return (await db.verified("engine_config", current, [engine, realm_id, state])).map(shown)[0];
		},
		// For revoking, which an altered row must not hinder: the box opens with this id, engine and realm alone.
		async configById(id) {
			return (await db.stored("engine_config", "id = $1", [id])).map(shown)[0];
		},
		configs: async () => (await db.verified("engine_config", "state <> 'generated' ORDER BY ordinal")).map(shown),
		isFormer: async (engine, realm_id) =>
			(await db.verified("engine_former_realm", "engine = $1 AND realm_id = $2", [engine, realm_id])).length > 0,
		async formerRealms() {
			const former = await db.verified("engine_former_realm", "true ORDER BY engine");
			const ids = former.map(({ realm_id }) => realm_id);
			const realms = await db.verified("realm", "deleted_at IS NULL AND id = ANY($1::text[]) ORDER BY slug", [ids]);
			const engines = Map.groupBy(former, ({ engine }) => engine);
			return [...engines].flatMap(([engine, rows]) => {
				const own = new Set(rows.map(({ realm_id }) => realm_id));
				return realms.filter(({ id }) => own.has(id)).map(({ id: realm_id, slug }) => ({ engine, realm_id, slug }));
			});
		},
	};
}

function shown({ ordinal: _, ...row }: StoredRows["engine_config"]): EngineConfigRow {
	return row;
}
