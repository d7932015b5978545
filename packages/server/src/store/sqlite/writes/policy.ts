import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Binding } from "../../../policy/model.ts";
import type { Append } from "./audit.ts";

/** Adds a row of binding, unless the user has one in the realm. */
export const INSERT_BINDING =
	"INSERT INTO binding (id, realm_id, user_id, role, granted_by, created_at) " +
	"VALUES (@id, @realm_id, @user_id, @role, @granted_by, @created_at) ON CONFLICT (realm_id, user_id) DO NOTHING";

/** Removes the user's row of binding in the realm. */
export const DELETE_BINDING = "DELETE FROM binding WHERE realm_id = @realm_id AND user_id = @user_id";

/** Operations on bindings. */
export function policyWrites(db: Database, append: Append) {
	const owner = db.prepare("SELECT user_id FROM realm WHERE id = ? AND deleted_at IS NULL").pluck();
	const user = db.prepare("SELECT 1 FROM account WHERE id = ?").pluck();
	const insert = db.prepare(INSERT_BINDING);
	const remove = db.prepare(DELETE_BINDING);
	return {
		bind(binding: Binding, event: AuditEvent): "done" | "exists" | "owner" | "no_user" | "realm_gone" {
			const ownerId = owner.get(binding.realm_id);
			if (ownerId === undefined) return "realm_gone";
			if (ownerId === binding.user_id) return "owner";
			if (user.get(binding.user_id) === undefined) return "no_user";
			if (insert.run(binding).changes === 0) return "exists";
			append(event);
			return "done";
		},
		unbind(input: { realm_id: string; user_id: string }, event: AuditEvent): boolean {
			if (remove.run(input).changes === 0) return false;
			append(event);
			return true;
		},
	};
}
