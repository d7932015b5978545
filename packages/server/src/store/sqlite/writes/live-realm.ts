import type { Database } from "better-sqlite3";
import { verified } from "../row-guard.ts";

const isLive = (column: string) => `FROM ${verified("realm")} AS realm WHERE ${column} = ? AND deleted_at IS NULL`;

/** Selects columns of a realm that is not deleted, by its id. */
export const liveRealm = (columns: string): string => `SELECT ${columns} ${isLive("id")}`;

/** Selects the owner of a realm that is not deleted, by its id. */
export const LIVE_REALM = liveRealm("user_id");

/** Selects id and owner of a realm that is not deleted, by its slug. */
const LIVE_REALM_BY_SLUG = `SELECT id, user_id ${isLive("slug")}`;

/** Looks at the deleted realms that had a slug: the view refuses one that another program marked as deleted. */
const DELETED_BY_SLUG = `SELECT count(*) FROM ${verified("realm")} WHERE slug = ? AND deleted_at IS NOT NULL`;

/** Prepares the question whether a realm has a slug. The slug of one that another program marked as deleted stays taken. */
export function slugTaken(db: Database): (slug: string) => boolean {
	const live = db.prepare(LIVE_REALM_BY_SLUG);
	const deleted = db.prepare(DELETED_BY_SLUG);
	return (slug) => {
		if (live.get(slug) !== undefined) return true;
		deleted.get(slug);
		return false;
	};
}
