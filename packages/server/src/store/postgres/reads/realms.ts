import type { RealmAccess } from "../../../realms/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { deletedRealmReads } from "./deleted-realms.ts";
import { fullestOf } from "./fullest.ts";
import { memberships, roleIn, shown } from "./realm-rows.ts";

type RealmReads = Async<Implementations<"read">["realms"] & Implementations<"scan">["realms"]>;

/** Answers questions about realms: live ones, unless they say so. */
export function realmReads(db: Snapshot): RealmReads {
	const isMine = "deleted_at IS NULL AND (user_id = $1 OR id = ANY($2::text[])) AND ($3::text IS NULL OR id = $3)";
	return {
		async access(slug, user_id): Promise<RealmAccess | undefined> {
			const [realm] = await db.verified("realm", "slug = $1 AND deleted_at IS NULL", [slug]);
			// One that another program marked as deleted is refused: nothing would be a false answer.
			if (realm === undefined) await db.verified("realm", "slug = $1 AND deleted_at IS NOT NULL", [slug]);
			return realm && { ...shown(realm), role: await roleIn(db, realm, user_id) };
		},
		async named(ids) {
			const found = await db.verified("realm", "deleted_at IS NULL AND id = ANY($1::text[]) ORDER BY slug", [ids]);
			return found.map(({ id, slug }) => ({ id, slug }));
		},
		async list(user_id, only, after, limit) {
			const condition = `${isMine} AND id > $4 ORDER BY id LIMIT $5`;
			const values = [user_id, await memberships(db, user_id), only, after, limit];
			return (await db.verified("realm", condition, values)).map(shown);
		},
		count: async (user_id, only) => db.count("realm", isMine, [user_id, await memberships(db, user_id), only]),
		...deletedRealmReads(db),
		fullest: (input) => fullestOf(db.sql, input),
	};
}
