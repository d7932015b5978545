import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import { type Binding, MAX_BINDINGS } from "../../../policy/model.ts";
import type { Append } from "./audit.ts";

/** Adds a row of binding. */
export const INSERT_BINDING =
	"INSERT INTO binding (id, realm_id, user_id, role, granted_by, created_at) " +
	"VALUES (@id, @realm_id, @user_id, @role, @granted_by, @created_at)";

/** Removes the user's row of binding in the realm. */
export const DELETE_BINDING = "DELETE FROM binding WHERE realm_id = @realm_id AND user_id = @user_id";

/** How many users are bound in a realm. */
export const COUNT_BINDINGS = "SELECT count(*) FROM binding WHERE realm_id = ?";

/** Operations on bindings. */
export function policyWrites(db: Database, append: Append) {
	const owner = db.prepare("SELECT user_id FROM realm WHERE id = ? AND deleted_at IS NULL").pluck();
	const user = db.prepare("SELECT 1 FROM account WHERE id = ?").pluck();
	const bound = db.prepare("SELECT 1 FROM binding WHERE realm_id = @realm_id AND user_id = @user_id").pluck();
	const count = db.prepare(COUNT_BINDINGS).pluck();
	const insert = db.prepare(INSERT_BINDING);
	const remove = db.prepare(DELETE_BINDING);
	return {
		bind(
			binding: Binding,
			event: AuditEvent,
		): "done" | "exists" | "owner" | "no_user" | "realm_gone" | "limit_reached" {
			const ownerId = owner.get(binding.realm_id);
			if (ownerId === undefined) return "realm_gone";
			if (ownerId === binding.user_id) return "owner";
			if (user.get(binding.user_id) === undefined) return "no_user";
			if (bound.get(binding) !== undefined) return "exists";
			if ((count.get(binding.realm_id) as number) >= MAX_BINDINGS) return "limit_reached";
			insert.run(binding);
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
