import type { Account, SessionOwner } from "../../../accounts/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Behind every character that an e-mail may hold. */
const LAST_CHARACTER = "\u{10ffff}";

/** Answers questions about accounts and sessions. */
export function accountReads(db: Snapshot): Async<Implementations<"read">["accounts"]> {
	const one = async (condition: string, value: string): Promise<Account | undefined> =>
		(await db.verified("account", condition, [value]))[0];
	return {
		byEmail: (email) => one("email = $1", email),
		byId: (id) => one("id = $1", id),
		startingWith: (start, limit) =>
			db.verified("account", "email >= $1 AND email < $2 ORDER BY email LIMIT $3", [
				start,
				start + LAST_CHARACTER,
				limit,
			]),
		hadAny: () => everRegistered(db),
		list: (after, limit) => db.verified("account", "id > $1 ORDER BY id LIMIT $2", [after, limit]),
		async holdings(user_id, now) {
			const own = "user_id = $1";
			return {
				sessions: await db.count("session", `${own} AND expires_at > $2`, [user_id, now]),
				tokens: await db.count("api_token", own, [user_id]),
				realms: await db.count("realm", own, [user_id]),
			};
		},
		async limits(user_id) {
			const [limits] = await db.verified("account_limit", "user_id = $1", [user_id]);
			return { realm_bytes: limits?.realm_bytes ?? null, realms: limits?.realms ?? null };
		},
		count: () => db.count("account", "true"),
		isKnownSource: async (pairs, since) =>
			(await db.verified("known_source", "pair = ANY($1::bytea[]) AND seen_at > $2", [pairs, since])).length > 0,
		async session(jti) {
			return (await db.verified("session", "jti = $1", [jti]))[0];
		},
		sessions: (user_id, now, after, limit) =>
			db.verified("session", "user_id = $1 AND expires_at > $2 AND jti > $3 ORDER BY jti LIMIT $4", [
				user_id,
				now,
				after,
				limit,
			]),
		async sessionOwner(jti, user_id, now) {
			const [session] = await db.verified("session", "jti = $1 AND user_id = $2 AND expires_at > $3", [
				jti,
				user_id,
				now,
			]);
			return session && ownerOf(db, user_id);
		},
	};
}

/** Finds an account that is not disabled, as a request needs it. */
export async function ownerOf(db: Snapshot, user_id: string): Promise<SessionOwner | undefined> {
	const [account] = await db.verified("account", "id = $1 AND disabled_at IS NULL", [user_id]);
	if (account === undefined) return undefined;
	const { email, name, instance_admin } = account;
	return { user_id, email, name, instance_admin };
}

/** Tells whether an account ever existed. Emptying the table makes no new instance admin: the log knows the first registration. Design: §13 */
export async function everRegistered(db: Snapshot): Promise<boolean> {
	if (await db.has("account", "true")) return true;
	return (await db.sql.rows("SELECT 1 FROM audit_event WHERE type = 'auth.register' LIMIT 1")).length > 0;
}
