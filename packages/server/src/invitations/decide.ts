import type { Config } from "../config.ts";
import type { AppError } from "../errors.ts";
import { decideBinding, refuseRole } from "../policy/decide.ts";
import type { BindingOutcome, Role } from "../policy/model.ts";
import { type Invitation, type Invited, MAX_INVITATIONS, MAX_INVITATIONS_OF_REALM } from "./model.ts";

/** Tells whether only the instance admin's invitation makes an account with this address. Design: §15 */
export function needsAdmin({ mode, allowed_domains }: Config["registration"], email: string): boolean {
	if (mode === "domain") return !allowed_domains.includes(email.slice(email.lastIndexOf("@") + 1));
	return mode === "admin" || mode === "closed";
}

/** Facts known when an invitation is made. */
export interface InvitingFacts {
	hasAccount: boolean;
	/** Open invitations of its maker, without the one that it replaces. */
	count: number;
	/** Realms of the invitation. */
	realms: {
		/** Undefined when no such realm lives. */
		owner_id: string | undefined;
		/** Open invitations into it, and those among them that the same account made. */
		count: number;
		own: number;
	}[];
}

/**
 * Decides whether an invitation is made. Of a realm's limit, only the owner's own invitations count toward the owner: others, even former admins, whose
 * invitations stay open for a week, must not keep the owner from inviting. Design: §13
 */
export function decideInvitation(
	{ created_by }: Pick<Invitation, "created_by">,
	{ hasAccount, count, realms }: InvitingFacts,
): Invited {
	if (hasAccount) return "has_account";
	if (realms.some(({ owner_id }) => owner_id === undefined)) return "realm_gone";
	if (count >= MAX_INVITATIONS) return "limit_reached";
	const isFull = realms.some((realm) => {
		const counted = realm.owner_id === created_by ? realm.own : realm.count;
		// Each of a realm's successive owners has its own, up to a bound of all.
		return counted >= MAX_INVITATIONS_OF_REALM || realm.count >= 10 * MAX_INVITATIONS_OF_REALM;
	});
	return isFull ? "realm_limit_reached" : "done";
}

/** Facts known about an invitation when it is used. */
export interface UseFacts {
	/** Undefined when there is none, or it has expired. */
	invitation: { email: string } | undefined;
	/** Its maker; undefined when the account is disabled. */
	maker: { instance_admin: boolean } | undefined;
}

/** Decides whether an invitation makes an account with the address: its maker must still have access. Design: §15 */
export function isUsable(email: string, admin_only: boolean, { invitation, maker }: UseFacts): boolean {
	if (invitation?.email !== email || maker === undefined) return false;
	return maker.instance_admin || !admin_only;
}

/** Facts known about a role of an invitation when it is used. */
export interface InvitedFacts {
	/** Role of the invitation's maker in the realm; undefined when the realm is gone. */
	maker: Role | null | undefined;
	owner_id: string | undefined;
	isBound: boolean;
	/** Bindings of the realm. */
	count: number;
	/** Bindings of the user. */
	memberships: number;
}

/** Decides whether an invitation's role is given: its maker must still manage the realm's policy. Design: §15 */
export function decideInvitedRole(
	binding: { user_id: string; granted_by: string },
	{ maker, ...facts }: InvitedFacts,
): BindingOutcome | AppError["code"] {
	if (maker === undefined) return "realm_gone";
	const refusal = refuseRole(maker, { capability: "policy:manage", isAdminOnly: true });
	return refusal === undefined ? decideBinding(binding, { ...facts, hasAccount: true }) : refusal.code;
}
