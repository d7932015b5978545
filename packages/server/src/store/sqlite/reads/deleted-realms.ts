import type { Implementations } from "../../store.ts";
import { and, desc, eq, gt, isNotNull, lt, or, sql } from "../drizzle.ts";
import { realm } from "../schema.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Pick<Implementations<"read">["realms"], "findDeleted" | "deletedBefore">;

const { placeholder } = sql;

/** Columns of a realm that callers see. */
export const realmColumns = {
	id: realm.id,
	slug: realm.slug,
	name: realm.name,
	description: realm.description,
	user_id: realm.user_id,
	created_at: realm.created_at,
};

/** Questions about deleted realms. */
export function deletedRealmReads(db: ReadConnection): Reads {
	const shown = {
		...realmColumns,
		deleted_by: sql<string>`coalesce(${realm.deleted_by}, '')`,
		deleted_at: sql<string>`${realm.deleted_at}`,
	};
	const isRestorable = and(
		gt(realm.deleted_at, placeholder("since")),
		or(eq(placeholder("user_id") as never, ""), eq(realm.user_id, placeholder("user_id"))),
	);
	const due = lazy(() =>
		db
			.select({ id: realm.id, slug: realm.slug })
			.from(realm)
			.where(and(isNotNull(realm.deleted_at), lt(realm.deleted_at, placeholder("instant"))))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const newest = lazy(() =>
		db
			.select(shown)
			.from(realm)
			.where(
				and(
					isRestorable,
					eq(realm.slug, placeholder("slug")),
					or(eq(placeholder("id") as never, ""), eq(realm.id, placeholder("id"))),
				),
			)
			.orderBy(desc(realm.deleted_at), desc(realm.id))
			.limit(1)
			.prepare(),
	);
	return {
		deletedBefore: (instant, limit) => due().all({ instant, limit }),
		findDeleted: ({ user_id = "", id = "", ...which }) => newest().get({ ...which, user_id, id }),
	};
}
