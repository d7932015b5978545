import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import { decideBinding } from "../../../policy/decide.ts";
import type { Implementations } from "../../store.ts";
import { fits } from "../row-guard.ts";
import { LIVE_REALM } from "./live-realm.ts";

/** Adds a row of binding. */
export const INSERT_BINDING =
	"INSERT INTO binding (id, realm_id, user_id, role, granted_by, created_at) " +
	"VALUES (@id, @realm_id, @user_id, @role, @granted_by, @created_at)";

/** Replaces the user's role in the realm; a row that another program altered stays as it is. */
const UPDATE_BINDING =
	"UPDATE binding SET role = @role, granted_by = @granted_by WHERE realm_id = @realm_id AND user_id = @user_id " +
	`AND ${fits("binding")}`;

/** Removes the user's row of binding in the realm. */
export const DELETE_BINDING = "DELETE FROM binding WHERE realm_id = @realm_id AND user_id = @user_id";

/** Counts the users bound in a realm. */
export const COUNT_BINDINGS = "SELECT count(*) FROM binding WHERE realm_id = ?";

/** Counts the realms that a user is bound in. */
export const COUNT_MEMBERSHIPS = "SELECT count(*) FROM binding WHERE user_id = ?";

/** Operations on bindings. */
export function policyWrites(db: Database, append: Append): Implementations<"write">["policy"] {
	const owner = db.prepare(LIVE_REALM).pluck();
	const user = db.prepare("SELECT 1 FROM account WHERE id = ?").pluck();
	const bound = db.prepare("SELECT 1 FROM binding WHERE realm_id = @realm_id AND user_id = @user_id").pluck();
	const count = db.prepare(COUNT_BINDINGS).pluck();
	const memberships = db.prepare(COUNT_MEMBERSHIPS).pluck();
	const insert = db.prepare(INSERT_BINDING);
	const change = db.prepare(UPDATE_BINDING);
	const remove = db.prepare(DELETE_BINDING);
	return {
		bind(binding, event) {
			const decision = decideBinding(binding, {
				owner_id: owner.get(binding.realm_id) as string | undefined,
				hasAccount: user.get(binding.user_id) !== undefined,
				isBound: bound.get(binding) !== undefined,
				count: count.get(binding.realm_id) as number,
				memberships: memberships.get(binding.user_id) as number,
			});
			if (decision !== "done") return decision;
			insert.run(binding);
			append(event);
			return "done";
		},
		rebind(input, event) {
			if (change.run(input).changes === 0) return false;
			append(event);
			return true;
		},
		unbind(input, event) {
			if (remove.run(input).changes === 0) return false;
			append(event);
			return true;
		},
	};
}
