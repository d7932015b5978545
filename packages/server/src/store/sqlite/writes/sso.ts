import type { Database } from "better-sqlite3";
import type { Account, OwnerProof } from "../../../accounts/model.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { MAX_BINDINGS, type Role } from "../../../policy/model.ts";
import {
	type IdentityKey,
	MAX_IDENTITIES,
	type MappedRole,
	type NewLink,
	type OneTime,
	type ProviderRow,
	type SsoLogin,
	type SsoOutcome,
	type SsoStore,
} from "../../../sso/model.ts";
import { EMAIL_TAKEN, INSERT_ACCOUNT } from "./accounts.ts";
import type { Append } from "./audit.ts";
import { knownSourceWrites } from "./known-sources.ts";
import { COUNT_BINDINGS, DELETE_BINDING, INSERT_BINDING } from "./policy.ts";
import { sessionOpening } from "./sessions.ts";

/** Operations on providers and on logins that they vouched for. */
export function ssoWrites(db: Database, append: Append) {
	const set = db.prepare(
		"INSERT OR REPLACE INTO sso_provider (name, id, type, display_name, sealed, created_by, created_at) " +
			"VALUES (@name, @id, @type, @display_name, @sealed, @created_by, @created_at)",
	);
	const remove = db.prepare("DELETE FROM sso_provider WHERE name = ?");
	const use = db.prepare("INSERT INTO sso_used (digest, until) VALUES (@digest, @until) ON CONFLICT DO NOTHING");
	const forget = db.prepare("DELETE FROM sso_used WHERE until < ?");
	const openSession = sessionOpening(db);
	const sources = knownSourceWrites(db);
	const people = identityWrites(db);
	const roles = roleWrites(db, append);
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
			if (arrival.kind !== "known") people.arrive(login);
			const ended = openSession(session);
			sources.note(session.user_id, login.known);
			const changes = roles.plan(login);
			append(event, { arrival: arrival.kind, ...ended, roles_left_out: leftOut(changes) });
			roles.make(login, changes, event);
			return "done";
		},
		link(link: NewLink, event: AuditEvent): Awaited<ReturnType<SsoStore["link"]>> {
			if (!people.isOwner(link)) return "unproven";
			const owner = people.owner(link.identity);
			if (owner !== undefined) return owner === link.user_id ? "done" : "linked_elsewhere";
			if (people.count(link.user_id) >= MAX_IDENTITIES) return "full";
			people.link(link);
			append(event);
			return "done";
		},
		unlink(input: Parameters<SsoStore["unlink"]>[0], event: AuditEvent): Awaited<ReturnType<SsoStore["unlink"]>> {
			if (!people.isOwner(input)) return "unproven";
			const provider = people.providerOf(input);
			if (provider === undefined) return "unknown";
			if (!people.hasOtherWay(input)) return "last";
			people.unlink(input);
			append(event, { provider });
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
		"INSERT INTO sso_identity (id, provider, issuer, subject, user_id, is_vouched, made_account, created_at) " +
			"VALUES (@id, @provider, @issuer, @subject, @user_id, @is_vouched, @made_account, @at)",
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
		link: ({ identity, id, user_id, at }: NewLink) =>
			attach.run({ ...identity, id, user_id, at, is_vouched: 1, made_account: 0 }),
		/** Links whoever arrives for the first time. */
		arrive({ identity, link_id: id, session: { user_id, created_at: at }, arrival }: SsoLogin): void {
			const is_vouched = Number(arrival.kind !== "created" || arrival.is_vouched);
			attach.run({ ...identity, id, user_id, at, is_vouched, made_account: Number(arrival.kind === "created") });
		},
		...linkWrites(db),
		/** Whether accounts are what they were when the login was decided. */
		isStill({ identity, session: { user_id }, arrival }: SsoLogin): boolean {
			if (arrival.kind === "known") return owner(identity) === user_id && enabled.get(user_id) !== undefined;
			if (owner(identity) !== undefined) return false;
			if (arrival.kind === "linked") return open.get({ user_id, provider: identity.provider }) !== undefined;
			return taken.get(arrival.account.email) === undefined;
		},
	};
}

/** What an account's owner asks about its identities, and what removes one. */
function linkWrites(db: Database) {
	const proven = db
		.prepare(
			"SELECT 1 FROM account WHERE id = @user_id AND password IS @password AND (password IS NOT NULL OR EXISTS " +
				"(SELECT 1 FROM sso_identity WHERE user_id = @user_id AND provider = (SELECT provider FROM session WHERE jti = @jti)))",
		)
		.pluck();
	const total = db.prepare("SELECT count(*) FROM sso_identity WHERE user_id = ?").pluck();
	const found = db.prepare("SELECT provider FROM sso_identity WHERE id = ? AND user_id = ?").pluck();
	const otherWay = db
		.prepare(
			"SELECT 1 FROM account WHERE id = @user_id AND (password IS NOT NULL OR EXISTS (SELECT 1 FROM sso_identity " +
				"WHERE user_id = @user_id AND id <> @id AND provider IN (SELECT name FROM sso_provider)))",
		)
		.pluck();
	const remove = db.prepare("DELETE FROM sso_identity WHERE id = ? AND user_id = ?");
	return {
		/** Whether what showed that it is the owner is still so. */
		isOwner: ({ user_id, proof }: { user_id: string; proof: OwnerProof }): boolean =>
			proven.get({ user_id, ...proof }) !== undefined,
		count: (user_id: string) => total.get(user_id) as number,
		providerOf: ({ id, user_id }: { id: string; user_id: string }) => found.get(id, user_id) as string | undefined,
		/** Whether somebody can sign in without it: with a password, or at a provider that there is. */
		hasOtherWay: ({ id, user_id }: { id: string; user_id: string }): boolean =>
			otherWay.get({ id, user_id }) !== undefined,
		unlink: ({ id, user_id }: { id: string; user_id: string }) => remove.run(id, user_id),
	};
}

/** A role in a realm that a login changes. */
interface RoleChange extends MappedRole {
	realm_id: string;
	/** Whether the provider gave the account another one before. */
	isHeld: boolean;
	/** Whether the realm has no room for one more binding. */
	isLeftOut: boolean;
}

function leftOut(changes: readonly RoleChange[]): string | undefined {
	const realms = changes.filter(({ isLeftOut }) => isLeftOut).map(({ realm }) => realm);
	return realms.length === 0 ? undefined : realms.join();
}

/** Makes the roles that the provider gave what they are now: no others stay. What somebody else gave is left alone, and so is the owner. */
function roleWrites(db: Database, append: Append) {
	const find = db.prepare("SELECT id, user_id FROM realm WHERE slug = ? AND deleted_at IS NULL");
	const current = db.prepare("SELECT role, granted_by FROM binding WHERE realm_id = ? AND user_id = ?");
	const count = db.prepare(COUNT_BINDINGS).pluck();
	const remove = db.prepare(DELETE_BINDING);
	const granted = db
		.prepare(
			"SELECT slug FROM binding JOIN realm ON realm.id = realm_id " +
				"WHERE binding.user_id = ? AND granted_by = ? AND deleted_at IS NULL",
		)
		.pluck();
	const insert = db.prepare(INSERT_BINDING);
	const grantedBy = ({ identity }: SsoLogin) => `sso:${identity.provider}`;

	function compare(user_id: string, granted_by: string, mapped: MappedRole): RoleChange[] {
		const found = find.get(mapped.realm) as { id: string; user_id: string } | undefined;
		if (found === undefined || found.user_id === user_id) return [];
		const held = current.get(found.id, user_id) as { role: Role; granted_by: string } | undefined;
		if (held?.role === mapped.role || (held !== undefined && held.granted_by !== granted_by)) return [];
		const isLeftOut = held === undefined && (count.get(found.id) as number) >= MAX_BINDINGS;
		return [{ ...mapped, realm_id: found.id, isHeld: held !== undefined, isLeftOut }];
	}

	return {
		plan(login: SsoLogin): RoleChange[] {
			const { user_id } = login.session;
			const granted_by = grantedBy(login);
			const mapped = new Set(login.roles.map(({ realm }) => realm));
			const left = (granted.all(user_id, granted_by) as string[]).filter((realm) => !mapped.has(realm));
			const all = [...login.roles, ...left.map((realm) => ({ realm, role: undefined, id: "" }))];
			return all.flatMap((role) => compare(user_id, granted_by, role));
		},
		make(login: SsoLogin, changes: readonly RoleChange[], event: AuditEvent): void {
			const { user_id } = login.session;
			const granted_by = grantedBy(login);
			const { request_id, ip } = event.data;
			for (const { id, realm_id, realm, role, isHeld } of changes.filter(({ isLeftOut }) => !isLeftOut)) {
				const note = (type: "policy.binding.created" | "policy.binding.deleted", facts: { role?: Role }) =>
					append({ ...event, type, realm_id, realm, data: { user_id, granted_by, ...facts, request_id, ip } });
				if (isHeld) {
					remove.run({ realm_id, user_id });
					note("policy.binding.deleted", {});
				}
				if (role !== undefined) {
					insert.run({ id, realm_id, user_id, role, granted_by, created_at: event.timestamp });
					note("policy.binding.created", { role });
				}
			}
		},
	};
}
