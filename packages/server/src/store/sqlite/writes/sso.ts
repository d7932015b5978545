import type { Database } from "better-sqlite3";
import type { Account } from "../../../accounts/model.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import type { Role } from "../../../policy/model.ts";
import type { IdentityKey, MappedRole, OneTime, ProviderRow, SsoLogin, SsoOutcome } from "../../../sso/model.ts";
import { EMAIL_TAKEN, INSERT_ACCOUNT, INSERT_SESSION } from "./accounts.ts";
import type { Append } from "./audit.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { DELETE_BINDING, INSERT_BINDING } from "./policy.ts";

/** Operations on providers and on logins that they vouched for. */
export function ssoWrites(db: Database, append: Append) {
	const set = db.prepare(
		"INSERT OR REPLACE INTO sso_provider (name, id, type, display_name, sealed, created_by, created_at) " +
			"VALUES (@name, @id, @type, @display_name, @sealed, @created_by, @created_at)",
	);
	const remove = db.prepare("DELETE FROM sso_provider WHERE name = ?");
	const use = db.prepare("INSERT INTO sso_used (digest, until) VALUES (@digest, @until) ON CONFLICT DO NOTHING");
	const forget = db.prepare("DELETE FROM sso_used WHERE until < ?");
	const openSession = db.prepare(INSERT_SESSION);
	const sources = knownSourceWrites(db);
	const people = identityWrites(db);
	const giveRoles = roleWrites(db, append);
	const isNew = (used: OneTime) => use.run(used).changes > 0;
	return {
		setProvider(row: ProviderRow, event: AuditEvent): void {
			set.run(row);
			append(event);
		},
		removeProvider(name: string, event: AuditEvent): boolean {
			if (remove.run(name).changes === 0) return false;
			append(event);
			return true;
		},
		signIn(login: SsoLogin, event: AuditEvent): SsoOutcome {
			const { session, arrival } = login;
			if (!people.isStill(login)) return "changed";
			if (!login.used.map(isNew).every(Boolean)) return "replay";
			if (arrival.kind === "created") people.add(arrival.account);
			const isVouched = arrival.kind !== "created" || arrival.is_vouched;
			if (arrival.kind !== "known") people.link(login.identity, session.user_id, session.created_at, isVouched);
			openSession.run(session);
			sources.note(session.user_id, login.known);
			append(event, { arrival: arrival.kind });
			giveRoles(login, event);
			return "done";
		},
		link(
			input: { identity: IdentityKey; user_id: string; at: string },
			event: AuditEvent,
		): "done" | "linked_elsewhere" {
			const owner = people.owner(input.identity);
			if (owner !== undefined) return owner === input.user_id ? "done" : "linked_elsewhere";
			people.link(input.identity, input.user_id, input.at, true);
			append(event);
			return "done";
		},
		consume: isNew,
		forgetUsed: (before: string): number => forget.run(before).changes,
	};
}

function identityWrites(db: Database) {
	const find = db
		.prepare("SELECT user_id FROM sso_identity WHERE provider = @provider AND issuer = @issuer AND subject = @subject")
		.pluck();
	const attach = db.prepare(
		"INSERT INTO sso_identity (provider, issuer, subject, user_id, is_vouched, created_at) " +
			"VALUES (@provider, @issuer, @subject, @user_id, @is_vouched, @at)",
	);
	const enabled = db.prepare("SELECT 1 FROM account WHERE id = ? AND disabled_at IS NULL").pluck();
	const open = db
		.prepare(
			"SELECT 1 FROM account WHERE id = @user_id AND disabled_at IS NULL AND password IS NULL AND instance_admin = 0 " +
				"AND NOT EXISTS (SELECT 1 FROM sso_identity WHERE user_id = @user_id AND (provider = @provider OR is_vouched = 0))",
		)
		.pluck();
	const taken = db.prepare(EMAIL_TAKEN).pluck();
	const insert = db.prepare(INSERT_ACCOUNT);
	const owner = (identity: IdentityKey) => find.get(identity) as string | undefined;
	return {
		owner,
		add: (account: Account) => insert.run({ ...account, password: null, instance_admin: 0, disabled_at: null }),
		link: (identity: IdentityKey, user_id: string, at: string, isVouched: boolean) =>
			attach.run({ ...identity, user_id, at, is_vouched: Number(isVouched) }),
		/** Whether accounts are what they were when the login was decided. */
		isStill({ identity, session: { user_id }, arrival }: SsoLogin): boolean {
			if (arrival.kind === "known") return owner(identity) === user_id && enabled.get(user_id) !== undefined;
			if (owner(identity) !== undefined) return false;
			if (arrival.kind === "linked") return open.get({ user_id, provider: identity.provider }) !== undefined;
			return taken.get(arrival.account.email) === undefined;
		},
	};
}

/** Makes the roles that the provider gave what they are now: no others stay. What somebody else gave is left alone, and so is the owner. */
function roleWrites(db: Database, append: Append) {
	const find = db.prepare("SELECT id, user_id FROM realm WHERE slug = ? AND deleted_at IS NULL");
	const current = db.prepare("SELECT role, granted_by FROM binding WHERE realm_id = ? AND user_id = ?");
	const remove = db.prepare(DELETE_BINDING);
	const granted = db
		.prepare(
			"SELECT slug FROM binding JOIN realm ON realm.id = realm_id " +
				"WHERE binding.user_id = ? AND granted_by = ? AND deleted_at IS NULL",
		)
		.pluck();
	const insert = db.prepare(INSERT_BINDING);

	function give(user_id: string, granted_by: string, { realm, role, id }: MappedRole, event: AuditEvent): void {
		const found = find.get(realm) as { id: string; user_id: string } | undefined;
		if (found === undefined || found.user_id === user_id) return;
		const held = current.get(found.id, user_id) as { role: Role; granted_by: string } | undefined;
		if (held?.role === role || (held !== undefined && held.granted_by !== granted_by)) return;
		const { request_id, ip } = event.data;
		const note = (type: "policy.binding.created" | "policy.binding.deleted", facts: { role?: Role }) =>
			append({ ...event, type, realm_id: found.id, realm, data: { user_id, granted_by, ...facts, request_id, ip } });
		if (held !== undefined) {
			remove.run({ realm_id: found.id, user_id });
			note("policy.binding.deleted", {});
		}
		if (role !== undefined) {
			insert.run({ id, realm_id: found.id, user_id, role, granted_by, created_at: event.timestamp });
			note("policy.binding.created", { role });
		}
	}

	return ({ identity, session, roles }: SsoLogin, event: AuditEvent): void => {
		const granted_by = `sso:${identity.provider}`;
		const mapped = new Set(roles.map(({ realm }) => realm));
		const left = (granted.all(session.user_id, granted_by) as string[]).filter((realm) => !mapped.has(realm));
		const all = [...roles, ...left.map((realm) => ({ realm, role: undefined, id: "" }))];
		for (const role of all) give(session.user_id, granted_by, role, event);
	};
}
