import { eventBy } from "../audit/model.ts";
import type { Config } from "../config.ts";
import { type CodeNeeds, newCode } from "../crypto/codes.ts";
import { AppError, LimitReached } from "../errors.ts";
import type { RowLimit } from "../limits.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import {
	type AccessNeeds,
	authorize,
	requireInstanceSession,
	requireScope,
	requireSession,
	requireUnrestricted,
} from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor, Role } from "../policy/model.ts";
import type { System } from "../system.ts";
import { needsAdmin } from "./decide.ts";
import {
	INVITATION_MS,
	type InvitationStore,
	type InvitationWithRoles,
	type Invited,
	type InvitedRole,
	MAX_INVITATIONS,
	MAX_INVITATIONS_OF_REALM,
} from "./model.ts";

/** Dependencies of the rules about invitations. */
export interface InvitationNeeds extends AccessNeeds, CodeNeeds {
	store: AccessNeeds["store"] & { invitations: InvitationStore };
	system: System;
	keyring: CodeNeeds["keyring"] & { cursorKey(): Buffer };
	registration: Config["registration"];
}

/**
 * Invites somebody to make an account, with roles in realms whose policy the caller manages. The caller's earlier invitation of the address ends.
 * @returns the invitation and its code, which is shown once
 * @throws AppError unsupported_operation (not a session), not_found (realm), forbidden, insufficient_scope, conflict (an account has the address), limit_reached
 * Design: §15
 */
export async function createInvitation(
	needs: InvitationNeeds,
	actor: Actor,
	{ email, bindings: wanted }: { email: string; bindings: { realm: string; role: Role }[] },
): Promise<InvitationWithRoles & { code: string }> {
	requireSession(actor, "invite somebody");
	if (needsAdmin(needs.registration, email)) await requireInstanceSession(needs, actor, "invite somebody");
	const bindings: InvitedRole[] = [];
	for (const { realm: slug, role } of wanted) {
		const realm = await authorize(needs, actor, slug, { capability: "policy:manage", scope: "any" });
		bindings.push({ realm_id: realm.id, realm: realm.slug, role });
	}
	const now = needs.system.now();
	const { code, digest } = newCode(needs, "invitation");
	const row = {
		id: needs.system.uuid(),
		...{ email, digest, bindings },
		created_by: actor.user_id,
		created_at: now.toISOString(),
		expires_at: new Date(now.getTime() + INVITATION_MS).toISOString(),
	};
	const facts = { invitation_id: row.id, email, expires_at: row.expires_at };
	refuse(await needs.store.invitations.make(row, eventBy(actor, now, "invitation.created", undefined, facts)));
	return { ...row, code };
}

function refuse(outcome: Invited): void {
	if (outcome === "realm_gone") throw realmNotFound();
	if (outcome === "has_account") {
		throw new AppError("conflict", "the e-mail already has an account: give it a role with `svc binding add`");
	}
	if (outcome === "limit_reached")
		throw tooMany("invitations_per_account", "you have as many open invitations as an account may", MAX_INVITATIONS);
	if (outcome === "realm_limit_reached")
		throw tooMany("invitations_per_realm", "a realm has reached its limit of invitations", MAX_INVITATIONS_OF_REALM);
}

function tooMany(limit: RowLimit, what: string, max: number): AppError {
	return new LimitReached(limit, `${what} (${limit}, ${max}): end one first with \`svc invitation delete\``);
}

/** Reads one page of the caller's open invitations, or of everybody's for the instance admin. @throws AppError insufficient_scope. Design: §15 */
export async function listInvitations(
	needs: InvitationNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: InvitationWithRoles[]; pagination: Pagination }> {
	await requireUnrestricted(needs, actor);
	await requireScope(needs, actor, "read");
	const whose = reachOf(actor);
	const now = needs.system.now().toISOString();
	return readPage(needs.keyring.cursorKey(), page, {
		list: `invitations ${whose}`,
		read: (after, limit) => needs.store.invitations.list(whose, now, after ?? "", limit),
		position: (invitation) => invitation.id,
		count: () => needs.store.invitations.count(whose, now),
	});
}

/** Names the maker of the invitations that the caller may see and end: empty for all of them. */
function reachOf({ instance_admin, user_id }: Actor): string {
	return instance_admin ? "" : user_id;
}

/** Ends an invitation: the caller's own, or anybody's for the instance admin. @throws AppError not_found, unsupported_operation. Design: §15 */
export async function deleteInvitation(needs: InvitationNeeds, actor: Actor, id: string): Promise<void> {
	requireSession(actor, "end an invitation");
	const created_by = reachOf(actor);
	if (created_by === "") actor.grants.push("instance");
	const event = eventBy(actor, needs.system.now(), "invitation.deleted", undefined, { invitation_id: id });
	if (!(await needs.store.invitations.remove({ id, created_by }, event)))
		throw new AppError("not_found", "invitation not found: `svc invitation list` shows those that are open");
}
