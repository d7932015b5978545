import { type Invitation, type InvitationWithRoles, MAX_INVITATIONS_USED } from "../../../invitations/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Condition on an invitation that has not expired; $2 names its maker, or nobody. */
const LISTED = "expires_at > $1 AND $2 IN (created_by, '')";

/** Conditions on an address's invitations, and on those of instance admins. Ids are in the order of creation, and MACs cover them. */
const OF_ADDRESS = `email = $1 AND expires_at > $2 ORDER BY id LIMIT ${MAX_INVITATIONS_USED}`;
const OF_ADMINS = "created_by IN (SELECT id FROM account WHERE instance_admin AND disabled_at IS NULL)";

/** Answers questions about open invitations. */
export function invitationReads(db: Snapshot): Async<Implementations<"read">["invitations"]> {
	const find = async (condition: string, values: readonly unknown[]) =>
		withRoles(db, await db.verified("invitation", condition, values));
	return {
		async byDigest(digest, now) {
			return (await find("digest = $1 AND expires_at > $2", [digest, now]))[0];
		},
		async forEmail(email, now) {
			const found = await db.verified("invitation", `${OF_ADMINS} AND ${OF_ADDRESS}`, [email, now]);
			found.push(...(await db.verified("invitation", OF_ADDRESS, [email, now])));
			const once = new Map(found.map((one) => [one.id, one]));
			return withRoles(db, [...once.values()].slice(0, MAX_INVITATIONS_USED));
		},
		list: (created_by, now, after, limit) =>
			find(`${LISTED} AND id > $3 ORDER BY id LIMIT $4`, [now, created_by, after, limit]),
		count: (created_by, now) => db.count("invitation", LISTED, [now, created_by]),
	};
}

/** Adds the roles of all invitations of a page, in realms that live. */
async function withRoles(db: Snapshot, rows: readonly Invitation[]): Promise<InvitationWithRoles[]> {
	const roles = await db.verified("invitation_binding", "invitation_id = ANY($1::text[])", [rows.map(({ id }) => id)]);
	const live = await db.verified("realm", "deleted_at IS NULL AND id = ANY($1::text[]) ORDER BY slug", [
		roles.map(({ realm_id }) => realm_id),
	]);
	const given = Map.groupBy(roles, ({ invitation_id }) => invitation_id);
	return rows.map((row) => {
		const ofRealm = new Map(given.get(row.id)?.map(({ realm_id, role }) => [realm_id, role]));
		const bindings = live.flatMap(({ id: realm_id, slug: realm }) => {
			const role = ofRealm.get(realm_id);
			return role === undefined ? [] : [{ realm_id, realm, role }];
		});
		return { ...row, bindings };
	});
}
