import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../../audit/model.ts";
import type { NewRealm } from "../../../realms/model.ts";
import type { Append } from "./audit.ts";
import { emptying } from "./emptying.ts";
import { IS_UNUSED } from "./engines.ts";

/** Operations on realms. */
export function realmWrites(db: Database, append: Append) {
	const taken = db.prepare("SELECT 1 FROM realm WHERE slug = ? AND deleted_at IS NULL").pluck();
	const most = db.prepare("SELECT realms FROM account_limit WHERE user_id = ?").pluck();
	const owned = db.prepare("SELECT count(*) FROM realm WHERE user_id = ?").pluck();
	const insert = db.prepare(
		"INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES (@id, @slug, @name, @description, @user_id, @created_at)",
	);
	const addKey = db.prepare(
		"INSERT INTO keyring (id, purpose, realm_id, state, wrapped, created_at) VALUES (@id, @purpose, @realm_id, @state, @wrapped, @created_at)",
	);
	const remove = db.prepare("UPDATE realm SET deleted_at = @deleted_at WHERE id = @id AND deleted_at IS NULL");
	// Intents are left to whoever is at work on them: activating one finds the realm gone.
	const revokeLeases = db.prepare(
		"UPDATE lease SET state = 'revoking', due_at = ?, reason = 'realm_deleted' WHERE realm_id = ? AND state = 'active' AND due_at IS NOT NULL",
	);
	const retireConfigs = db.prepare(
		"UPDATE engine_config SET state = 'retired' WHERE realm_id = ? AND state = 'active'",
	);
	const dropConfigs = db.prepare(`DELETE FROM engine_config WHERE realm_id = ? AND ${IS_UNUSED}`);
	const dropAuthority = db.prepare("DELETE FROM engine_config WHERE realm_id = ? AND state = 'generated'");
	const purge = db.prepare("DELETE FROM realm WHERE id = ? AND deleted_at IS NOT NULL");
	const dropKeys = db.prepare("DELETE FROM keyring WHERE realm_id = ?");
	return {
		create(input: NewRealm, event: AuditEvent): "done" | "slug_taken" | "limit_reached" {
			const { slug, user_id } = input.realm;
			if (taken.get(slug) !== undefined) return "slug_taken";
			const limit = (most.get(user_id) as number | null | undefined) ?? input.realms_per_account;
			if ((owned.get(user_id) as number) >= limit) return "limit_reached";
			insert.run(input.realm);
			addKey.run(input.key);
			append(event);
			return "done";
		},
		remove(input: { id: string; deleted_at: string }, event: AuditEvent): boolean {
			if (remove.run(input).changes === 0) return false;
			const { changes: leases } = revokeLeases.run(Date.parse(input.deleted_at), input.id);
			retireConfigs.run(input.id);
			dropConfigs.run(input.id);
			append(event, leases === 0 ? {} : { leases });
			return true;
		},
		empty: emptying(db),
		purge(id: string, event: AuditEvent): boolean {
			if (purge.run(id).changes === 0) return false;
			dropKeys.run(id);
			dropAuthority.run(id);
			append(event);
			return true;
		},
	};
}
