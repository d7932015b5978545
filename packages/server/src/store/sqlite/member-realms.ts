import { verified } from "./row-guard.ts";

/** Selects the ids of the live realms that a user owns or has a role in. @param user the user's id, as SQL */
export function realmsOf(user: string): string {
	const [realm, binding] = [verified("realm"), verified("binding")];
	const own = `SELECT id FROM ${realm} WHERE user_id = ${user} AND deleted_at IS NULL`;
	const bound = `SELECT realm_id FROM ${binding} WHERE user_id = ${user}`;
	return `${own} UNION SELECT id FROM ${realm} WHERE id IN (${bound}) AND deleted_at IS NULL`;
}
