import { believed } from "../row-guard.ts";

/** Selects the owner of a realm that is not deleted, by its id. */
export const LIVE_REALM = `SELECT user_id FROM ${believed("realm")} WHERE id = ? AND deleted_at IS NULL`;

/** Selects id and owner of a realm that is not deleted, by its slug. */
export const LIVE_REALM_BY_SLUG = `SELECT id, user_id FROM ${believed("realm")} WHERE slug = ? AND deleted_at IS NULL`;
