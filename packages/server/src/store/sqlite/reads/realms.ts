import type { Role } from "../../../policy/model.ts";
import type { Implementations } from "../../store.ts";
import { and, asc, count, eq, gt, isNull, or, sql } from "../drizzle.ts";
import { believed } from "../row-guard.ts";
import { realm } from "../schema.ts";
import { deletedRealmReads, realmColumns } from "./deleted-realms.ts";
import { later, type Reader } from "./reader.ts";

type Reads = Implementations<"read">["realms"];

const { placeholder } = sql;

/** Questions about realms: live ones, unless they say so. */
export function realmReads(db: Reader): Reads {
	const { role, isMember } = membership();
	const access = later(() =>
		db
			.select({ ...realmColumns, role })
			.from(realm)
			.where(and(eq(realm.slug, placeholder("slug")), isNull(realm.deleted_at)))
			.prepare(),
	);
	const named = later(() =>
		db
			.select({ id: realm.id, slug: realm.slug })
			.from(realm)
			.where(and(isNull(realm.deleted_at), sql`${realm.id} IN (SELECT value FROM json_each(${placeholder("ids")}))`))
			.orderBy(asc(realm.slug))
			.prepare(),
	);
	const mine = and(
		isNull(realm.deleted_at),
		isMember,
		or(eq(placeholder("only") as never, ""), eq(realm.id, placeholder("only"))),
	);
	const list = later(() =>
		db
			.select(realmColumns)
			.from(realm)
			.where(and(mine, gt(realm.id, placeholder("after"))))
			.orderBy(asc(realm.id))
			.limit(placeholder("limit"))
			.prepare(),
	);
	const total = later(() => db.select({ total: count() }).from(realm).where(mine).prepare());
	return {
		access(slug, user_id) {
			const row = access().get({ slug, user_id });
			return row === undefined || row.user_id !== user_id ? row : { ...row, role: "admin" };
		},
		named: (ids) => named().all({ ids: JSON.stringify(ids) }),
		list: (user_id, only, after, limit) => list().all({ user_id, only: only ?? "", after, limit }),
		count: (user_id, only) => total().get({ user_id, only: only ?? "" })?.total ?? 0,
		...deletedRealmReads(db),
	};
}

/** Conditions on the user, who owns a realm, is bound in it, or is a machine of it. */
function membership() {
	const [bindings, machines, realms] = (["binding", "machine", "realm"] as const).map((table) =>
		sql.raw(believed(table)),
	);
	const user_id = placeholder("user_id");
	const bound = sql`(SELECT role FROM ${bindings} AS held WHERE held.realm_id = ${realms}.id AND held.user_id = ${user_id})`;
	const made = sql`(SELECT role FROM ${machines} AS made WHERE made.id = ${user_id} AND made.realm_id = ${realms}.id)`;
	const isMember = or(
		eq(realm.user_id, user_id),
		sql`${realm.id} IN (SELECT realm_id FROM ${bindings} WHERE user_id = ${user_id})`,
		sql`${realm.id} = (SELECT realm_id FROM ${machines} WHERE id = ${user_id})`,
	);
	return { role: sql<Role | null>`coalesce(${bound}, ${made})`, isMember };
}
