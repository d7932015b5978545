import { AppError } from "../errors.ts";
import { requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { askDirectory, type DirectoryNeeds } from "./ask-directory.ts";
import { type CodeNeeds, takeLogin } from "./codes.ts";
import { isReauthentication } from "./flows.ts";
import { identityOf } from "./identity.ts";
import { type BeginNeeds, beginLogin, type Redirect } from "./login.ts";
import { type Asserted, SsoRefusal } from "./model.ts";
import { findProviderOf, type Provider, type ProviderNeeds } from "./providers.ts";
import { guarded, noteRefusal } from "./refusals.ts";

/** Dependencies of ending a reauthentication. */
export type ReauthenticationNeeds = ProviderNeeds & DirectoryNeeds & CodeNeeds;

const DOING = "confirm who its owner is";

/**
 * Sends the owner of a session to sign in again at the identity provider. Signing in there opens no session.
 * @param back path of the console to which the browser returns, and the page to go on to
 * @returns a path of the console when that fails
 * @throws AppError unsupported_operation (not a session), not_found
 * Design: §16
 */
export function beginReauthentication(
	needs: BeginNeeds,
	actor: Actor,
	type: "oidc" | "saml",
	name: string,
	back: { address: string; target: string },
): Promise<Redirect> {
	const jti = requireSession(actor, DOING);
	return beginLogin(needs, actor, type, name, { ...back, jti, since_ms: needs.system.now().getTime() });
}

/**
 * Ends a reauthentication with the code that the browser brought: it must be for this very session, and the person its account's.
 * @returns the page to go on to
 * @throws AppError unsupported_operation (not a session), unauthorized, forbidden (somebody else), rate_limited
 * Design: §16
 */
export async function endReauthentication(needs: ReauthenticationNeeds, actor: Actor, code: string): Promise<string> {
	const jti = requireSession(actor, DOING);
	await needs.throttle.checkRefusals(actor.ip);
	const pending = await takeLogin(needs, code, (one) => isReauthentication(one) && one.jti === jti);
	if (pending === undefined || !isReauthentication(pending.waiting)) {
		await noteRefusal(needs, actor, { method: "sso", reason: "code" });
		throw new AppError("unauthorized", "this session did not ask for this sign-in, or it took too long: try again");
	}
	await requireOwner(needs, actor, pending.provider, pending.asserted);
	return pending.waiting.target;
}

/**
 * Confirms the owner of a session by a directory's password.
 * @throws AppError unsupported_operation (not a session), not_found, forbidden (somebody else), and as askDirectory
 * Design: §16
 */
export async function confirmWithDirectory(
	needs: ReauthenticationNeeds,
	actor: Actor,
	name: string,
	input: { username: string; password: string },
): Promise<void> {
	requireSession(actor, DOING);
	const provider = await findProviderOf(needs, "ldap", name);
	const { asserted } = await askDirectory(needs, actor, provider, input);
	await requireOwner(needs, actor, provider, asserted);
}

/** Requires that the person signs in to the session's account. @throws AppError forbidden */
function requireOwner(
	needs: ReauthenticationNeeds,
	actor: Actor,
	provider: Provider,
	asserted: Asserted,
): Promise<void> {
	return guarded(needs, actor, provider, async () => {
		const owner_id = await needs.store.sso.owner(identityOf(provider, asserted));
		if (owner_id !== actor.user_id) throw new SsoRefusal("another_person");
	});
}
