import { verified } from "../row-guard.ts";

const isLive = (column: string) => `FROM ${verified("realm")} AS realm WHERE ${column} = ? AND deleted_at IS NULL`;

/** Selects columns of a realm that is not deleted, by its id. */
export const liveRealm = (columns: string): string => `SELECT ${columns} ${isLive("id")}`;

/** Selects the owner of a realm that is not deleted, by its id. */
export const LIVE_REALM = liveRealm("user_id");

/** Selects id and owner of a realm that is not deleted, by its slug. */
export const LIVE_REALM_BY_SLUG = `SELECT id, user_id ${isLive("slug")}`;
