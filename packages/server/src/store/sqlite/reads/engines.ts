import type { EngineStore } from "../../../engines/model.ts";
import { and, eq, isNull, ne, sql } from "../drizzle.ts";
import { engineConfig, engineFormerRealm, realm } from "../schema.ts";
import { later, type Reader } from "./reader.ts";

const { placeholder } = sql;

/** Questions about engines' configurations. */
export function engineReads(
	db: Reader,
): Pick<EngineStore, "config" | "configById" | "configs" | "isFormer" | "formerRealms"> {
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
	const former = later(() =>
		db
			.select({ engine: engineFormerRealm.engine })
			.from(engineFormerRealm)
			.where(
				and(
					eq(engineFormerRealm.engine, placeholder("engine")),
					eq(engineFormerRealm.realm_id, placeholder("realm_id")),
				),
			)
			.prepare(),
	);
	const allFormer = later(() =>
		db
			.select({ engine: engineFormerRealm.engine, realm_id: realm.id, slug: realm.slug })
			.from(engineFormerRealm)
			.innerJoin(realm, and(eq(realm.id, engineFormerRealm.realm_id), isNull(realm.deleted_at)))
			.orderBy(engineFormerRealm.engine, realm.slug)
			.prepare(),
	);
	return {
		config: async (engine, realm_id, state) => current().get({ engine, realm_id, state }),
		configById: async (id) => byId().get({ id }),
		configs: async () => all().all(),
		isFormer: async (engine, realm_id) => former().get({ engine, realm_id }) !== undefined,
		formerRealms: async () => allFormer().all(),
	};
}
