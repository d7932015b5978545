import { decideBinding } from "../../../policy/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";

const OF_USER = "realm_id = $1 AND user_id = $2";

/** Makes the operations on bindings. */
export function policyWrites(db: Change): Async<Implementations<"write">["policy"]> {
	return {
		async bind(binding, event) {
			const { realm_id, user_id } = binding;
			const decision = decideBinding(binding, {
				owner_id: (await liveRealm(db, realm_id))?.user_id,
				hasAccount: await db.has("account", "id = $1", [user_id]),
				isBound: await db.has("binding", OF_USER, [realm_id, user_id]),
				...(await bindingCounts(db, realm_id, user_id)),
			});
			if (decision !== "done") return decision;
			await db.insert("binding", binding);
			db.append(event);
			return "done";
		},
		async rebind({ realm_id, user_id, role, granted_by }, event) {
			// A row that another program altered stays as it is.
			const [bound] = await db.verified("binding", OF_USER, [realm_id, user_id]);
			if (bound === undefined) return false;
			await db.update("binding", { role, granted_by }, "id = $1", [bound.id]);
			db.append(event);
			return true;
		},
		async unbind({ realm_id, user_id }, event) {
			if ((await db.remove("binding", OF_USER, [realm_id, user_id])) === 0) return false;
			db.append(event);
			return true;
		},
	};
}

/** Counts the bindings of a realm, and those of a user. */
export async function bindingCounts(
	db: Change,
	realm_id: string,
	user_id: string,
): Promise<{ count: number; memberships: number }> {
	return {
		count: await db.count("binding", "realm_id = $1", [realm_id]),
		memberships: await db.count("binding", "user_id = $1", [user_id]),
	};
}
