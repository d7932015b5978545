import type { AccountStore } from "../accounts/model.ts";
import { eventBy } from "../audit/model.ts";
import { AppError, LimitReached } from "../errors.ts";
import { normalEmail } from "../normal-text.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import type { RealmAccess } from "../realms/model.ts";
import type { System } from "../system.ts";
import {
	type Access,
	type AccessNeeds,
	authorize,
	isUnrestricted,
	type RefusalNeeds,
	requireScope,
	requireSession,
	requireWithinLimits,
} from "./authorize.ts";
import { realmNotFound } from "./decide.ts";
import {
	type Actor,
	type Binding,
	type Capability,
	MAX_BINDINGS,
	MAX_MEMBERSHIPS,
	type PolicyStore,
	ROLES,
	type Role,
	type Scope,
} from "./model.ts";

/** Dependencies of the policy rules. */
export interface PolicyNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { policy: PolicyStore; accounts: Pick<AccountStore, "byEmail" | "byId"> };
	system: System;
	keyring: { cursorKey(): Buffer };
}

const ROLE_LIST: readonly { name: string; capabilities: readonly Capability[] }[] = Object.entries(ROLES).map(
	([name, capabilities]) => ({ name, capabilities }),
);

/** Lists the roles and their capabilities. @throws AppError insufficient_scope. Spec: API › Policy */
export async function listRoles(needs: RefusalNeeds, actor: Actor): Promise<typeof ROLE_LIST> {
	await requireWithinLimits(needs, actor, "roles");
	return ROLE_LIST;
}

/**
 * Gives a user a role in a realm.
 * @throws AppError missing_field, not_found (realm or user), forbidden, insufficient_scope, conflict (the user has a role, or owns the realm), limit_reached
 * Spec: API › Policy
 */
export async function createBinding(
	needs: PolicyNeeds,
	actor: Actor,
	slug: string,
	input: Named & { role: Role },
): Promise<Binding> {
	const user_id = await idOf(needs, input);
	const realm = await manage(needs, actor, slug, user_id, { capability: "policy:manage", scope: "write" });
	const now = needs.system.now();
	const binding = {
		id: needs.system.uuid(),
		realm_id: realm.id,
		user_id,
		role: input.role,
		granted_by: actor.user_id,
		created_at: now.toISOString(),
	};
	const facts = { user_id, role: input.role };
	const outcome = await needs.store.policy.bind(binding, eventBy(actor, now, "policy.binding.created", realm, facts));
	if (outcome === "realm_gone") throw realmNotFound();
	if (outcome === "no_user")
		throw new AppError("not_found", "user not found: give the id that registration returned, or the account's e-mail");
	if (outcome === "owner") throw new AppError("conflict", "the user owns the realm and is already its admin");
	if (outcome === "exists") {
		throw new AppError("conflict", "the user already has a role in this realm: change it with `svc binding set`");
	}
	if (outcome === "limit_reached") {
		throw new LimitReached(
			"bindings_per_realm",
			`the realm has reached its limit of bindings (bindings_per_realm, ${MAX_BINDINGS}): remove one first with \`svc binding remove\``,
		);
	}
	if (outcome === "user_limit_reached") {
		throw new LimitReached(
			"bindings_per_account",
			`the user has roles in as many realms as an account may (bindings_per_account, ${MAX_MEMBERSHIPS}): remove one in another realm first`,
		);
	}
	return binding;
}

/** A user, by exactly one of the two. */
interface Named {
	user_id?: string | undefined;
	email?: string | undefined;
}

/** Finds a user's id; empty when no account has the e-mail. @throws AppError missing_field */
async function idOf({ store }: PolicyNeeds, { user_id, email }: Named): Promise<string> {
	if ((user_id === undefined) === (email === undefined))
		throw new AppError("missing_field", "user_id is required, or email in its place");
	return user_id ?? (await store.accounts.byEmail(normalEmail(email ?? "")))?.id ?? "";
}

/**
 * Gives a user another role in a realm. It ends one role and grants another, so a token needs the scopes of both.
 * @throws AppError not_found (realm or binding), forbidden, insufficient_scope
 * Design: §15
 */
export async function changeBinding(
	needs: PolicyNeeds,
	actor: Actor,
	slug: string,
	user_id: string,
	role: Role,
): Promise<{ user_id: string; role: Role }> {
	await manage(needs, actor, slug, user_id, { capability: "policy:manage", scope: "delete" });
	const realm = await manage(needs, actor, slug, user_id, { capability: "policy:manage", scope: "write" });
	const event = eventBy(actor, needs.system.now(), "policy.binding.changed", realm, { user_id, role });
	const change = { realm_id: realm.id, user_id, role, granted_by: actor.user_id };
	if (!(await needs.store.policy.rebind(change, event))) throw noBinding();
	return { user_id, role };
}

function noBinding(): AppError {
	return new AppError("not_found", "binding not found: the user has no role in this realm");
}

/**
 * Removes a user's role in a realm.
 * @throws AppError not_found (realm or binding), forbidden, insufficient_scope
 * Spec: API › Policy
 */
export async function deleteBinding(needs: PolicyNeeds, actor: Actor, slug: string, user_id: string): Promise<void> {
	const realm = await manage(needs, actor, slug, user_id, { capability: "policy:manage", scope: "delete" });
	const event = eventBy(actor, needs.system.now(), "policy.binding.deleted", realm, { user_id });
	if (!(await needs.store.policy.unbind({ realm_id: realm.id, user_id }, event))) throw noBinding();
}

/**
 * Removes the caller's own role in a realm: nobody stays in a realm where somebody else put them.
 * @throws AppError not_found (realm), unsupported_operation (not a session), conflict (the caller owns it)
 * Design: §15
 */
export async function leaveRealm(needs: PolicyNeeds, actor: Actor, slug: string): Promise<void> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", scope: "any" });
	requireSession(actor, "leave a realm");
	const { user_id } = actor;
	if (realm.user_id === user_id)
		throw new AppError(
			"conflict",
			"you own the realm: give it to another admin with `svc realm transfer` first, or delete it",
		);
	const event = eventBy(actor, needs.system.now(), "policy.binding.deleted", realm, { user_id });
	if (!(await needs.store.policy.unbind({ realm_id: realm.id, user_id }, event))) throw noBinding();
}

/** Reads one page of a realm's bindings. @throws AppError not_found, insufficient_scope. Spec: API › Policy */
export async function listBindings(
	needs: PolicyNeeds,
	actor: Actor,
	slug: string,
	page: PageRequest,
): Promise<{ rows: Binding[]; pagination: Pagination }> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read" });
	return readPage(needs.keyring.cursorKey(), page, {
		list: `bindings ${realm.id}`,
		read: (after, limit) => needs.store.policy.list(realm.id, after ?? "", limit),
		position: (binding) => binding.id,
		count: () => needs.store.policy.count(realm.id),
	});
}

/** Requires management of policy. Break-glass: the instance admin may bind and unbind itself in any realm, visibly in its log. Design: §6, §7.2. */
async function manage(
	needs: PolicyNeeds,
	actor: Actor,
	slug: string,
	user_id: string,
	access: Access & { scope: Scope },
): Promise<RealmAccess> {
	const isBreakGlass = actor.instance_admin && isUnrestricted(actor) && user_id === actor.user_id;
	if (isBreakGlass) {
		const realm = await needs.store.realms.access(slug, actor.user_id);
		if (realm === undefined) throw realmNotFound();
		await requireScope(needs, actor, access.scope);
		actor.grants.push("instance");
		return realm;
	}
	return authorize(needs, actor, slug, { ...access, isAdminOnly: true });
}
