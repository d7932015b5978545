import type { EngineStore } from "../../../engines/model.ts";
import { and, eq, ne, sql } from "../drizzle.ts";
import { engineConfig } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about engines' configurations. */
export function engineReads(db: Reader): Pick<EngineStore, "config" | "configById" | "configs"> {
	const current = later(() =>
		db
			.select()
			.from(engineConfig)
			.where(
				and(
					eq(engineConfig.engine, placeholder("engine")),
					eq(engineConfig.realm_id, placeholder("realm_id")),
					eq(engineConfig.state, placeholder("state")),
				),
			)
			.prepare(),
	);
	const byId = later(() =>
		db
			.select()
			.from(engineConfig)
			.where(eq(engineConfig.id, placeholder("id")))
			.prepare(),
	);
	const all = later(() =>
		db.select().from(engineConfig).where(ne(engineConfig.state, "generated")).orderBy(sql`rowid`).prepare(),
	);
	return {
		config: async (engine, realm_id, state) => current().get({ engine, realm_id, state }),
		configById: async (id) => byId().get({ id }),
		configs: async () => all().all(),
	};
}
