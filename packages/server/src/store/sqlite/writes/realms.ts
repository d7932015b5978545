import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import { decideChange, decideRealm } from "../../../realms/decide.ts";
import { IS_UNUSED } from "../../shared-sql.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { END_INVITED_ROLES } from "./invitations.ts";
import { INSERT_KEY } from "./keys.ts";
import { leaseRevoker } from "./leases.ts";
import { LIVE_REALM, slugTaken } from "./live-realm.ts";
import { countOfMachines } from "./machines.ts";
import { COUNT_MEMBERSHIPS, DELETE_BINDING, INSERT_BINDING } from "./policy.ts";
import { endRestrictedBatch, purgeBatch } from "./purge.ts";

/** Operations on realms. */
export function realmWrites(db: Database, append: Append): Implementations<"write">["realms"] {
	const isTaken = slugTaken(db);
	const holdings = holdingsOf(db);
	const insert = db.prepare(
		"INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES (@id, @slug, @name, @description, @user_id, @created_at)",
	);
	const addKey = db.prepare(INSERT_KEY);
	const remove = db.prepare(
		"UPDATE realm SET deleted_at = @deleted_at, deleted_by = @deleted_by WHERE id = @id AND deleted_at IS NULL",
	);
	const endInvited = db.prepare(END_INVITED_ROLES);
	const countTokens = db.prepare(countOfMachines("machine_token")).pluck();
	const countTrusts = db.prepare(countOfMachines("trust")).pluck();
	const leases = leaseRevoker(db);
	const retireConfigs = db.prepare(
		"UPDATE engine_config SET state = 'retired' WHERE realm_id = ? AND state = 'active'",
	);
	const dropConfigs = db.prepare(`DELETE FROM engine_config WHERE realm_id = ? AND ${IS_UNUSED}`);
	return {
		create(input, event) {
			const { slug, user_id } = input.realm;
			const facts = { isSlugTaken: isTaken(slug), ...holdings(user_id) };
			const decision = decideRealm(facts, input.realms_per_account);
			if (decision !== "done") return decision;
			insert.run(input.realm);
			addKey.run(input.key);
			append(event);
			return "done";
		},
		remove(input, event) {
			if (remove.run({ ...input, deleted_by: event.actor }).changes === 0) return false;
			// Leases that are being made are left to their makers: activating one finds the realm gone.
			const selection = {
				realm_id: input.id,
				user_id: undefined,
				engine: undefined,
				now_ms: Date.parse(input.deleted_at),
			};
			const revoked = leases.revoke(selection, "realm_deleted");
			retireConfigs.run(input.id);
			dropConfigs.run(input.id);
			endInvited.run(input.id);
			// They grant nothing from now on. There may be 275,000: `endRestricted` removes them in parts.
			const machine_tokens = countTokens.get(input.id) as number;
			const trusts = countTrusts.get(input.id) as number;
			append(event, {
				...(revoked > 0 && { leases: revoked }),
				...(machine_tokens > 0 && { machine_tokens }),
				...(trusts > 0 && { trusts }),
			});
			return true;
		},
		...changing(db, append),
		...restoring(db, append),
		...purging(db, append),
	};
}

/** Makes the question for the number of an account's realms, and its own limit of them. */
function holdingsOf(db: Database): (user_id: string) => { owned: number; own_limit: number | null } {
	const limit = db.prepare(`SELECT realms FROM ${verified("account_limit")} WHERE user_id = ?`).pluck();
	const owned = db.prepare("SELECT count(*) FROM realm WHERE user_id = ?").pluck();
	return (user_id) => ({
		owned: owned.get(user_id) as number,
		own_limit: (limit.get(user_id) as number | null | undefined) ?? null,
	});
}

/** Makes the operation that changes a realm and its owner. */
function changing(db: Database, append: Append): Pick<Implementations<"write">["realms"], "change"> {
	const owner = db.prepare(LIVE_REALM).pluck();
	const enabled = db.prepare(`SELECT 1 FROM ${verified("account")} WHERE id = ? AND disabled_at IS NULL`).pluck();
	const role = db.prepare(`SELECT role FROM ${verified("binding")} WHERE realm_id = ? AND user_id = ?`).pluck();
	const memberships = db.prepare(COUNT_MEMBERSHIPS).pluck();
	const holdings = holdingsOf(db);
	const update = db.prepare(
		"UPDATE realm SET name = @name, description = @description, user_id = @user_id WHERE id = @id",
	);
	const unbind = db.prepare(DELETE_BINDING);
	const bind = db.prepare(INSERT_BINDING);
	return {
		change(input, event) {
			const { id, name, description, user_id, kept } = input;
			const owner_id = owner.get(id) as string | undefined;
			const decision = decideChange(input, {
				owner_id,
				isOwnerEnabled: enabled.get(owner_id) !== undefined,
				isHeir: enabled.get(user_id) !== undefined && role.get(id, user_id) === "admin",
				...holdings(user_id),
				memberships: memberships.get(owner_id) as number,
			});
			if (decision !== "done") return decision;
			update.run({ id, name, description, user_id });
			if (user_id !== owner_id) {
				for (const one of [user_id, owner_id]) unbind.run({ realm_id: id, user_id: one });
				if (kept !== undefined) bind.run(kept);
			}
			append(event);
			return "done";
		},
	};
}

/** Operations that bring a deleted realm back. */
function restoring(
	db: Database,
	append: Append,
): Pick<Implementations<"write">["realms"], "endRestricted" | "restore"> {
	const isTaken = slugTaken(db);
	const end = endRestrictedBatch(db);
	const find = db.prepare(
		`SELECT 1 FROM ${verified("realm")} WHERE id = @id AND +user_id = @user_id AND deleted_at > @since`,
	);
	const restore = db.prepare("UPDATE realm SET slug = @slug, deleted_at = NULL, deleted_by = NULL WHERE id = @id");
	return {
		endRestricted: end,
		restore(input, event) {
			if (find.get(input) === undefined) return "not_found";
			if (isTaken(input.slug)) return "slug_taken";
			// Usually there are none left: nothing is added to a realm that does not live.
			while (end(input.id) > 0);
			restore.run({ id: input.id, slug: input.slug });
			append(event);
			return "done";
		},
	};
}

/** Operations that permanently remove a deleted realm. */
function purging(db: Database, append: Append): Pick<Implementations<"write">["realms"], "empty" | "purge"> {
	const dropAuthority = db.prepare("DELETE FROM engine_config WHERE realm_id = ? AND state = 'generated'");
	const purge = db.prepare("DELETE FROM realm WHERE id = @id AND deleted_at < @deleted_before");
	const dropKeys = db.prepare("DELETE FROM keyring WHERE realm_id = ?");
	return {
		empty: purgeBatch(db),
		purge(purgeable, event) {
			if (purge.run(purgeable).changes === 0) return false;
			const { id } = purgeable;
			dropKeys.run(id);
			dropAuthority.run(id);
			append(event);
			return true;
		},
	};
}
