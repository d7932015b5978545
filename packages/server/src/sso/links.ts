import type { AccountStore, OwnerProof } from "../accounts/model.ts";
import { eventBy } from "../audit/model.ts";
import { AppError, LimitReached } from "../errors.ts";
import {
	type Asked,
	type CodeOwnerNeeds,
	notRecent,
	proveOwnerByCode,
	refuseUsed,
	wrongPassword,
} from "../factors/owner.ts";
import { requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { identityOf } from "./identity.ts";
import { type Asserted, type Identity, MAX_IDENTITIES, SsoRefusal, type SsoStore } from "./model.ts";
import type { Provider } from "./providers.ts";

/** Dependencies of linking identities. */
export interface LinkNeeds extends CodeOwnerNeeds {
	store: CodeOwnerNeeds["store"] & { accounts: Pick<AccountStore, "byId">; sso: SsoStore };
	system: System;
}

const DOING = "link an identity";

/**
 * Requires a proof that only the account's owner has, so that nobody else gets in.
 * @param field name of the field with the code of the second factor
 * @throws AppError unsupported_operation, missing_field, wrong_password, wrong_code, forbidden, rate_limited
 * Design: §13, §16
 */
export function proveForLink(needs: LinkNeeds, actor: Actor, asked: Asked, field?: string): Promise<OwnerProof> {
	return proveOwnerByCode(needs, actor, asked, DOING, field);
}

/**
 * Links an identity with the account of the signed-in user.
 * @throws SsoRefusal linked_elsewhere when it belongs to another account; AppError limit_reached, wrong_password, wrong_code, forbidden
 * Design: §11, §13
 */
export async function linkIdentity(
	needs: LinkNeeds,
	actor: Actor,
	proof: OwnerProof,
	provider: Provider,
	asserted: Asserted,
): Promise<void> {
	const now = needs.system.now();
	const id = needs.system.uuid();
	const facts = { identity_id: id, method: provider.is.type, provider: provider.name };
	const link = { id, identity: identityOf(provider, asserted), user_id: actor.user_id, at: now.toISOString(), proof };
	const event = eventBy(actor, now, "sso.identity.linked", undefined, facts);
	const outcome = await needs.store.sso.link(link, event);
	if (outcome === "linked_elsewhere") throw new SsoRefusal("linked_elsewhere");
	if (outcome === "used") await refuseUsed(needs, actor, proof);
	if (outcome === "unproven") throw unproven(proof);
	if (outcome === "full") {
		const message = `this account has reached its limit of linked identities (identities_per_account, ${MAX_IDENTITIES}): unlink one first`;
		throw new LimitReached("identities_per_account", message);
	}
}

/** Lists the identities that sign in to an account. @throws AppError unsupported_operation. Design: §13 */
export async function listIdentities(
	needs: LinkNeeds,
	actor: Actor,
): Promise<{ identities: Identity[]; has_password: boolean }> {
	requireSession(actor, "see who signs in to its account");
	const account = await needs.store.accounts.byId(actor.user_id);
	const identities = await needs.store.sso.identitiesOf(actor.user_id);
	return { identities, has_password: account?.password != null };
}

/**
 * Removes an identity from the account of the signed-in user. The last way to sign in cannot be removed.
 * @throws AppError unsupported_operation, missing_field, wrong_password, wrong_code, forbidden, not_found, conflict (the last way), rate_limited
 * Design: §13, §16
 */
export async function unlinkIdentity(needs: LinkNeeds, actor: Actor, id: string, asked: Asked): Promise<void> {
	const proof = await proveOwnerByCode(needs, actor, asked, "unlink an identity");
	const event = eventBy(actor, needs.system.now(), "sso.identity.unlinked", undefined, { identity_id: id });
	const outcome = await needs.store.sso.unlink({ id, user_id: actor.user_id, proof }, event);
	if (outcome === "used") await refuseUsed(needs, actor, proof);
	if (outcome === "unknown")
		throw new AppError("not_found", "identity not found: `svc account identities` shows those of your account");
	if (outcome === "unproven") throw unproven(proof);
	if (outcome === "last")
		throw new AppError("conflict", "this is the only way left to sign in to the account: link another identity first");
}

/** The answer when the proof is no longer valid. */
function unproven({ password }: OwnerProof): AppError {
	return password === null ? notRecent() : wrongPassword();
}
