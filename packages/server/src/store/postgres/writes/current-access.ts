import { limitsText } from "../../../machines/decide.ts";
import type { CurrentAccess, MadeEvent } from "../../../policy/decide.ts";
import type { Maker, Role } from "../../../policy/model.ts";
import { notExpiredAt } from "../../shared-sql.ts";
import type { Snapshot } from "../database.ts";
import { liveRealm, roleById } from "../reads/realm-rows.ts";

/** Reads what a maker may do at this moment: a session may have ended, or a role been revoked, while a request was on its way. */
export async function currentAccess(db: Snapshot, { maker, timestamp }: MadeEvent): Promise<CurrentAccess> {
	const account = await accountOf(db, maker, timestamp);
	const roles = new Map<string, Role | null | undefined>();
	for (const grant of maker.grants) {
		if (grant !== "instance") roles.set(grant.realm_id, await roleById(db, grant.realm_id, maker.user_id));
	}
	return { account: () => account, role: (realm_id) => roles.get(realm_id) };
}

const NOT_EXPIRED = `id = $1 AND ${notExpiredAt("$2")}`;

async function accountOf(
	db: Snapshot,
	{ user_id, machine: caller, jti, token_id }: Maker,
	at: string,
): Promise<ReturnType<CurrentAccess["account"]>> {
	if (caller !== undefined) {
		const [token] = await db.verified("machine_token", NOT_EXPIRED, [token_id, at]);
		if (token?.machine_id !== user_id) return undefined;
		const [machine] = await db.verified("machine", "id = $1", [user_id]);
		if (machine === undefined || (await liveRealm(db, machine.realm_id)) === undefined) return undefined;
		return { instance_admin: false, limits: limitsText(machine) };
	}
	const [holder] =
		token_id === undefined
			? await db.verified("session", "jti = $1 AND expires_at > $2", [jti, at])
			: await db.verified("api_token", NOT_EXPIRED, [token_id, at]);
	if (holder?.user_id !== user_id) return undefined;
	const [account] = await db.verified("account", "id = $1 AND disabled_at IS NULL", [user_id]);
	return account && { instance_admin: account.instance_admin };
}
