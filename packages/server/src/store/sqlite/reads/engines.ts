import type { Implementations } from "../../store.ts";
import { and, eq, isNull, ne, sql } from "../drizzle.ts";
import { engineConfig, engineFormerRealm, realm, storedConfig } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Implementations<"read">["engines"];

const { placeholder } = sql;

/** Questions about engines' configurations. */
export function engineReads(db: ReadConnection): Reads {
	const current = lazy(() =>
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
	// For revoking, which an altered row must not hinder: the box opens with this id, engine and realm alone.
	const byId = lazy(() =>
		db
			.select()
			.from(storedConfig)
			.where(eq(storedConfig.id, placeholder("id")))
			.prepare(),
	);
	const all = lazy(() =>
		db.select().from(engineConfig).where(ne(engineConfig.state, "generated")).orderBy(sql`ordinal`).prepare(),
	);
	const former = lazy(() =>
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
	const allFormer = lazy(() =>
		db
			.select({ engine: engineFormerRealm.engine, realm_id: realm.id, slug: realm.slug })
			.from(engineFormerRealm)
			.innerJoin(realm, and(eq(realm.id, engineFormerRealm.realm_id), isNull(realm.deleted_at)))
			.orderBy(engineFormerRealm.engine, realm.slug)
			.prepare(),
	);
	return {
		config: (engine, realm_id, state) => current().get({ engine, realm_id, state }),
		configById: (id) => byId().get({ id }),
		configs: () => all().all(),
		isFormer: (engine, realm_id) => former().get({ engine, realm_id }) !== undefined,
		formerRealms: () => allFormer().all(),
	};
}
