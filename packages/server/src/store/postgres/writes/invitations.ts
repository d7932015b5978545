import type { LeftOutRole, UsedInvitation } from "../../../accounts/model.ts";
import type { AuditEvent } from "../../../audit/model.ts";
import { decideInvitation, decideInvitedRole, isUsable } from "../../../invitations/decide.ts";
import type { Role } from "../../../policy/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm, roleById } from "../reads/realm-rows.ts";
import { bindingCounts } from "./policy.ts";

type InvitationWrites = Async<Implementations<"write">["invitations"]>;

/** Condition on some expired invitations, the same ones each time. Each has up to ten roles. */
const SOME_EXPIRED = "id IN (SELECT id FROM invitation WHERE expires_at < $1 ORDER BY expires_at, id LIMIT 100)";

/** Makes the operations on invitations. */
export function invitationWrites(db: Change): InvitationWrites {
	return {
		make: (invitation, event) => make(db, invitation, event),
		async remove({ id, created_by }, event) {
			const [found] = await db.stored("invitation", "id = $1 AND $2 IN (created_by, '')", [id, created_by]);
			if (found === undefined) return false;
			const { email } = found;
			const bindings = await db.stored("invitation_binding", "invitation_id = $1", [id]);
			await endInvitations(db, "id = $1", [id]);
			db.append(event, { email });
			for (const { realm_id } of bindings) {
				const realm = await liveRealm(db, realm_id);
				if (realm !== undefined) db.append({ ...event, realm_id, realm: realm.slug }, { email });
			}
			return true;
		},
		drop: (expired_before) => endInvitations(db, SOME_EXPIRED, [expired_before]),
	};
}

/** Ends the invitations that meet a condition, with the roles that they give. @returns how many */
export async function endInvitations(db: Change, condition: string, values: readonly unknown[]): Promise<number> {
	await db.remove("invitation_binding", `invitation_id IN (SELECT id FROM invitation WHERE ${condition})`, values);
	return db.remove("invitation", condition, values);
}

async function make(
	db: Change,
	...[{ bindings, ...invitation }, event]: Parameters<InvitationWrites["make"]>
): ReturnType<InvitationWrites["make"]> {
	const { id, email, created_by, created_at } = invitation;
	const open = "created_by = $1 AND email <> $2 AND expires_at > $3";
	const intoRealm = (made: string) =>
		`realm_id = $1 AND EXISTS (SELECT 1 FROM invitation WHERE invitation.id = invitation_id AND expires_at > $2${made})`;
	const realms = [];
	for (const { realm_id } of bindings) {
		const owner_id = (await liveRealm(db, realm_id))?.user_id;
		const count = await db.count("invitation_binding", intoRealm(""), [realm_id, created_at]);
		const byMaker = intoRealm(" AND created_by = $3");
		const own = await db.count("invitation_binding", byMaker, [realm_id, created_at, created_by]);
		realms.push({ owner_id, count, own });
	}
	const decision = decideInvitation(invitation, {
		hasAccount: await db.has("account", "email = $1", [email]),
		count: await db.count("invitation", open, [created_by, email, created_at]),
		realms,
	});
	if (decision !== "done") return decision;
	await endInvitations(db, "created_by = $1 AND (email = $2 OR expires_at <= $3)", [created_by, email, created_at]);
	await db.insert("invitation", invitation);
	for (const { realm_id, role } of bindings)
		await db.insert("invitation_binding", { invitation_id: id, realm_id, role });
	db.append(event);
	for (const { realm_id, realm, role } of bindings) db.append({ ...event, realm_id, realm }, { role });
	return "done";
}

/** An invitation that makes an account now. */
interface OpenInvitation {
	id: string;
	created_by: string;
	/** Roles with the ids of their bindings. */
	roles: { id: string; realm_id: string; role: Role }[];
}

/** Finds those of the invitations that an address can use. */
export async function usableInvitations(
	db: Change,
	used: readonly UsedInvitation[],
	email: string,
	at: string,
): Promise<OpenInvitation[]> {
	const found: OpenInvitation[] = [];
	for (const { id, admin_only, bindings } of used) {
		const [invitation] = await db.verified("invitation", "id = $1 AND expires_at > $2", [id, at]);
		const [maker] = await db.verified("account", "id = $1 AND disabled_at IS NULL", [invitation?.created_by]);
		if (invitation === undefined || !isUsable(email, admin_only, { invitation, maker })) continue;
		const given = await db.verified("invitation_binding", "invitation_id = $1", [id]);
		const roles = bindings.flatMap((binding) => {
			const role = given.find(({ realm_id }) => realm_id === binding.realm_id)?.role;
			return role === undefined ? [] : [{ ...binding, role }];
		});
		found.push({ id, created_by: invitation.created_by, roles });
	}
	return found;
}

/** Uses invitations up. @returns their facts for the event of the new account */
export async function useInvitations(
	db: Change,
	invitations: readonly OpenInvitation[],
): Promise<{ invitation_id?: string; invited_by?: string }> {
	for (const { id } of invitations) await endInvitations(db, "id = $1", [id]);
	if (invitations.length === 0) return {};
	const of = (key: "id" | "created_by") => invitations.map((invitation) => invitation[key]).join();
	return { invitation_id: of("id"), invited_by: of("created_by") };
}

/** Gives a new account the roles and records each in its realm's log. @returns those that the maker of the invitation may no longer give */
export async function giveRoles(
	db: Change,
	invitations: readonly OpenInvitation[],
	user_id: string,
	event: AuditEvent,
): Promise<LeftOutRole[]> {
	const leftOut: LeftOutRole[] = [];
	for (const { id: invitation_id, created_by: granted_by, roles } of invitations) {
		for (const role of roles) {
			const refused = await giveRole(db, { ...role, user_id, granted_by }, invitation_id, event);
			if (refused !== undefined) leftOut.push(refused);
		}
	}
	return leftOut;
}

interface GivenRole {
	id: string;
	realm_id: string;
	role: Role;
	user_id: string;
	granted_by: string;
}

async function giveRole(
	db: Change,
	binding: GivenRole,
	invitation_id: string,
	event: AuditEvent,
): Promise<LeftOutRole | undefined> {
	const { realm_id, user_id, role, granted_by } = binding;
	const realm = await liveRealm(db, realm_id);
	const outcome = decideInvitedRole(binding, {
		maker: await roleById(db, realm_id, granted_by),
		owner_id: realm?.user_id,
		isBound: await db.has("binding", "realm_id = $1 AND user_id = $2", [realm_id, user_id]),
		...(await bindingCounts(db, realm_id, user_id)),
	});
	if (realm === undefined || outcome === "realm_gone" || outcome === "exists") return undefined;
	const { request_id, ip } = event.data;
	const facts = { user_id, role, granted_by, invitation_id, request_id, ip };
	const inRealm = { ...event, realm_id, realm: realm.slug };
	if (outcome === "done") {
		await db.insert("binding", { ...binding, created_at: event.timestamp });
		db.append({ ...inRealm, type: "policy.binding.created", data: facts });
		return undefined;
	}
	db.append({ ...inRealm, type: "access.denied", data: { ...facts, wanted: "policy:manage", reason: outcome } });
	return { realm: realm.slug, role };
}
