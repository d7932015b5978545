import type { Role } from "../../../policy/model.ts";
import type { Realm } from "../../../realms/model.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, isNotNull, isNull, or, sql } from "../drizzle.ts";
import { verified } from "../row-guard.ts";
import { realm } from "../schema.ts";
import { deletedRealmReads, realmColumns } from "./deleted-realms.ts";
import { lazy, type ReadConnection } from "./read-connection.ts";

type Reads = Implementations<"read">["realms"];

const { placeholder } = sql;

/** Questions about realms: live ones, unless they say so. */
export function realmReads(db: ReadConnection): Reads {
	const access = lazy(() =>
		db
			.select({ ...realmColumns, role: roleOf() })
			.from(realm)
			.where(and(eq(realm.slug, placeholder("slug")), isNull(realm.deleted_at)))
			.prepare(),
	);
	const deleted = lazy(() =>
		db
			.select({ total: count() })
			.from(realm)
			.where(and(eq(realm.slug, placeholder("slug")), isNotNull(realm.deleted_at)))
			.prepare(),
	);
	const named = lazy(() =>
		db
			.select({ id: realm.id, slug: realm.slug })
			.from(realm)
			.where(and(isNull(realm.deleted_at), sql`${realm.id} IN (SELECT value FROM json_each(${placeholder("ids")}))`))
			.orderBy(asc(realm.slug))
			.prepare(),
	);
	return {
		access(slug, user_id) {
			const row = access().get({ slug, user_id });
			// The view refuses one that another program marked as deleted: nothing would be a false answer.
			if (row === undefined) deleted().get({ slug });
			return row === undefined || row.user_id !== user_id ? row : { ...row, role: "admin" };
		},
		named: (ids) => named().all({ ids: JSON.stringify(ids) }),
		...listReads(db),
		...deletedRealmReads(db),
	};
}

/** Ids of the live realms that a user owns, is bound in, or is a machine of, as the rows are. */
const MINE = sql`(
	SELECT id FROM realm WHERE user_id = ${placeholder("user_id")} AND deleted_at IS NULL
	UNION SELECT realm_id FROM binding JOIN realm ON realm.id = realm_id WHERE binding.user_id = ${placeholder("user_id")} AND deleted_at IS NULL
	UNION SELECT realm_id FROM machine JOIN realm ON realm.id = realm_id WHERE machine.id = ${placeholder("user_id")} AND deleted_at IS NULL
) AS mine`;

/** Prepares the list of a user's realms. There may be 1,250: those of the page alone are verified, each with what makes the user a member. */
function listReads(db: ReadConnection): Pick<Reads, "list" | "count"> {
	const id = sql<string>`id`;
	const isAsked = sql`${placeholder("only")} IN ('', ${id})`;
	const chosen = lazy(() =>
		db
			.select({ id })
			.from(MINE)
			.where(and(isAsked, gt(id, placeholder("after"))))
			.orderBy(asc(id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const isChosen = sql`${realm.id} IN (SELECT value FROM json_each(${placeholder("ids")}))`;
	const isMember = or(eq(realm.user_id, placeholder("user_id")), sql`${roleOf()} IS NOT NULL`);
	const ofPage = lazy(() =>
		db
			.select(realmColumns)
			.from(realm)
			.where(and(isNull(realm.deleted_at), isChosen, isMember))
			.orderBy(asc(realm.id))
			.prepare(),
	);
	const total = lazy(() => db.select({ total: count() }).from(MINE).where(isAsked).prepare());
	return {
		list(user_id, only = "", after, limit) {
			const found: Realm[] = [];
			// An altered role grants nothing, and hides no realm behind it.
			for (let from: string | undefined = after; from !== undefined && found.length < limit; ) {
				const wanted: number = limit - found.length;
				const ids = chosen().all({ user_id, only, after: from, limit: wanted });
				found.push(...ofPage().all({ user_id, ids: JSON.stringify(ids.map((row) => row.id)) }));
				from = ids.length < wanted ? undefined : ids.at(-1)?.id;
			}
			return found;
		},
		count: (user_id, only = "") => total().get({ user_id, only })?.total ?? 0,
	};
}

/** Selects the role of a user who is bound in a realm, or is a machine of it. */
function roleOf() {
	const [bindings, machines, realms] = (["binding", "machine", "realm"] as const).map((table) =>
		sql.raw(verified(table)),
	);
	const user_id = placeholder("user_id");
	const bound = sql`(SELECT role FROM ${bindings} AS held WHERE held.realm_id = ${realms}.id AND held.user_id = ${user_id})`;
	const made = sql`(SELECT role FROM ${machines} AS made WHERE made.id = ${user_id} AND made.realm_id = ${realms}.id)`;
	return sql<Role | null>`coalesce(${bound}, ${made})`;
}
