import type { Database } from "better-sqlite3";
import type { LeftOutRole, UsedInvitation } from "../../../accounts/model.ts";
import type { Append } from "../../../audit/chain.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideInvitation, decideInvitedRole, isUsable } from "../../../invitations/decide.ts";
import type { Role } from "../../../policy/model.ts";
import type { Implementations } from "../../store.ts";
import { verified } from "../row-guard.ts";
import { accessRows, currentAccess } from "./current-access.ts";
import { LIVE_REALM, liveRealm } from "./live-realm.ts";
import { COUNT_BINDINGS, COUNT_MEMBERSHIPS, INSERT_BINDING } from "./policy.ts";

/** Ends all invitations that a user made. */
export const END_INVITATIONS = "DELETE FROM invitation WHERE created_by = ?";

/** Ends the roles that invitations give in a realm. */
export const END_INVITED_ROLES = "DELETE FROM invitation_binding WHERE realm_id = ?";

/** Finds a row when an account has the e-mail. */
export const EMAIL_TAKEN = "SELECT 1 FROM account WHERE email = ?";

const LIVE_SLUG = liveRealm("slug");

/** Operations on invitations. */
export function invitationWrites(db: Database, append: Append): Implementations<"write">["invitations"] {
	const realms = db.prepare("SELECT realm_id FROM invitation_binding WHERE invitation_id = ?").pluck();
	const slug = db.prepare(LIVE_SLUG).pluck();
	const find = db.prepare("SELECT email FROM invitation WHERE id = @id AND @created_by IN (created_by, '')").pluck();
	const remove = db.prepare("DELETE FROM invitation WHERE id = ?");
	// Each has up to ten roles, which end with it.
	const drop = db.prepare(
		"DELETE FROM invitation WHERE id IN (SELECT id FROM invitation WHERE expires_at < ? LIMIT 100)",
	);
	return {
		make: making(db, append),
		remove(input, event) {
			const email = find.get(input) as string | undefined;
			if (email === undefined) return false;
			const realm_ids = realms.all(input.id) as string[];
			remove.run(input.id);
			append(event, { email });
			for (const realm_id of realm_ids) {
				const realm = slug.get(realm_id) as string | undefined;
				if (realm !== undefined) append({ ...event, realm_id, realm }, { email });
			}
			return true;
		},
		drop: (expired_before) => drop.run(expired_before).changes,
	};
}

function making(db: Database, append: Append): Implementations<"write">["invitations"]["make"] {
	const taken = db.prepare(EMAIL_TAKEN);
	const owner = db.prepare(LIVE_REALM).pluck();
	const count = db
		.prepare(
			"SELECT count(*) FROM invitation WHERE created_by = @created_by AND email <> @email AND expires_at > @created_at",
		)
		.pluck();
	const ofRealm = db.prepare(
		"SELECT count(*) AS count, coalesce(sum(created_by = @created_by), 0) AS own FROM invitation_binding " +
			"CROSS JOIN invitation ON id = invitation_id WHERE realm_id = @realm_id AND expires_at > @created_at",
	);
	const clear = db.prepare(
		"DELETE FROM invitation WHERE created_by = @created_by AND (email = @email OR expires_at <= @created_at)",
	);
	const insert = db.prepare(
		"INSERT INTO invitation (id, email, digest, created_by, created_at, expires_at) " +
			"VALUES (@id, @email, @digest, @created_by, @created_at, @expires_at)",
	);
	const give = db.prepare("INSERT INTO invitation_binding (invitation_id, realm_id, role) VALUES (?, ?, ?)");
	return ({ bindings, ...invitation }, event) => {
		const { created_by, created_at } = invitation;
		const decision = decideInvitation(invitation, {
			hasAccount: taken.get(invitation.email) !== undefined,
			count: count.get(invitation) as number,
			realms: bindings.map(({ realm_id }) => ({
				owner_id: owner.get(realm_id) as string | undefined,
				...(ofRealm.get({ realm_id, created_by, created_at }) as { count: number; own: number }),
			})),
		});
		if (decision !== "done") return decision;
		clear.run(invitation);
		insert.run(invitation);
		for (const { realm_id, role } of bindings) give.run(invitation.id, realm_id, role);
		append(event);
		for (const { realm_id, realm, role } of bindings) append({ ...event, realm_id, realm }, { role });
		return "done";
	};
}

/** An invitation that makes an account now. */
interface OpenInvitation {
	id: string;
	created_by: string;
	/** Roles with the ids of their bindings. */
	roles: { id: string; realm_id: string; role: Role }[];
}

/** Prepares the use of invitations by an account that is being made. */
export function invitationUse(db: Database, append: Append) {
	const find = db.prepare(
		`SELECT id, email, created_by FROM ${verified("invitation")} WHERE id = ? AND expires_at > ?`,
	);
	const maker = db
		.prepare(`SELECT instance_admin FROM ${verified("account")} WHERE id = ? AND disabled_at IS NULL`)
		.pluck();
	const role = db
		.prepare(`SELECT role FROM ${verified("invitation_binding")} WHERE invitation_id = ? AND realm_id = ?`)
		.pluck();
	const end = db.prepare("DELETE FROM invitation WHERE id = ?");
	const give = givingRole(db, append);
	type Row = { id: string; email: string; created_by: string };
	const open = (
		email: string,
		at: string,
		{ id, admin_only, bindings }: UsedInvitation,
	): OpenInvitation | undefined => {
		const invitation = find.get(id, at) as Row | undefined;
		const isAdmin = maker.get(invitation?.created_by) as number | undefined;
		const facts = { invitation, maker: isAdmin === undefined ? undefined : { instance_admin: isAdmin === 1 } };
		if (invitation === undefined || !isUsable(email, admin_only, facts)) return undefined;
		const roles = bindings.map((binding) => ({ ...binding, role: role.get(id, binding.realm_id) as Role | undefined }));
		return { ...invitation, roles: roles.filter((given) => given.role !== undefined) as OpenInvitation["roles"] };
	};
	return {
		/** Finds those of the invitations that the address can use. */
		open: (used: readonly UsedInvitation[], email: string, at: string): OpenInvitation[] =>
			used.flatMap((one) => open(email, at, one) ?? []),
		/** Uses invitations up. @returns what the event of the new account records of them */
		end(invitations: readonly OpenInvitation[]): { invitation_id?: string; invited_by?: string } {
			for (const { id } of invitations) end.run(id);
			if (invitations.length === 0) return {};
			const of = (key: "id" | "created_by") => invitations.map((invitation) => invitation[key]).join();
			return { invitation_id: of("id"), invited_by: of("created_by") };
		},
		/** Gives the new account the roles and records each in its realm's log. @returns those that the maker of the invitation may no longer give */
		giveRoles(invitations: readonly OpenInvitation[], user_id: string, event: AuditEvent): LeftOutRole[] {
			return invitations.flatMap(({ id, created_by, roles }) =>
				roles.flatMap(
					(invited) => give({ ...invited, user_id, granted_by: created_by, invitation_id: id }, event) ?? [],
				),
			);
		},
	};
}

interface Given {
	id: string;
	realm_id: string;
	role: Role;
	user_id: string;
	granted_by: string;
	invitation_id: string;
}

function givingRole(db: Database, append: Append): (given: Given, event: AuditEvent) => LeftOutRole | undefined {
	const access = accessRows(db);
	const owner = db.prepare(LIVE_REALM).pluck();
	const slug = db.prepare(LIVE_SLUG).pluck();
	const bound = db.prepare("SELECT 1 FROM binding WHERE realm_id = @realm_id AND user_id = @user_id");
	const count = db.prepare(COUNT_BINDINGS).pluck();
	const memberships = db.prepare(COUNT_MEMBERSHIPS).pluck();
	const insert = db.prepare(INSERT_BINDING);
	return ({ invitation_id, ...binding }, event) => {
		const { realm_id, user_id, role, granted_by } = binding;
		const outcome = decideInvitedRole(binding, {
			maker: currentAccess(access, event.timestamp).role(realm_id, granted_by),
			owner_id: owner.get(realm_id) as string | undefined,
			isBound: bound.get(binding) !== undefined,
			count: count.get(realm_id) as number,
			memberships: memberships.get(user_id) as number,
		});
		if (outcome === "realm_gone" || outcome === "exists") return undefined;
		const { request_id, ip } = event.data;
		const facts = { user_id, role, granted_by, invitation_id, request_id, ip };
		const realm = slug.get(realm_id) as string;
		const inRealm = { ...event, realm_id, realm };
		if (outcome === "done") {
			insert.run({ ...binding, created_at: event.timestamp });
			append({ ...inRealm, type: "policy.binding.created", data: facts });
			return undefined;
		}
		append({ ...inRealm, type: "access.denied", data: { ...facts, wanted: "policy:manage", reason: outcome } });
		return { realm, role };
	};
}
