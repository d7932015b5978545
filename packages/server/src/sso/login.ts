import { hash, timingSafeEqual } from "node:crypto";
import type { Throttle } from "../accounts/throttle.ts";
import type { AuditStore, Visitor } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Asked } from "../factors/owner.ts";
import { requireSession } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { sourceGroup } from "../source.ts";
import type { System } from "../system.ts";
import { askDirectory, type DirectoryNeeds } from "./ask-directory.ts";
import { CODE_MS, type CodeNeeds, keepLogin, type Pending, takeLogin } from "./codes.ts";
import { hasSignedInSince } from "./decide.ts";
import { type Flow, type Flows, isAskedAgain, usedBy, type Waiting } from "./flows.ts";
import { type IdentityNeeds, type SignedIn, signIn } from "./identity.ts";
import { type LinkNeeds, linkIdentity, proveForLink } from "./links.ts";
import { finishLogin, type LoginResult, refusalAddress } from "./login-result.ts";
import { type Asserted, MAX_CODE_MS, type OneTime, ProviderUnavailable, SsoRefusal } from "./model.ts";
import { findProviderOf, type Provider, type ProviderNeeds, serviceProvider } from "./providers.ts";
import { guarded, noteRefusal, type RefusalNeeds, refused } from "./refusals.ts";

const CODE_BYTES = 32;

/** Dependencies of beginning a login. */
export type BeginNeeds = ProviderNeeds & RefusalNeeds & { flows: Flows };

/** Dependencies of logins. */
export interface LoginNeeds extends ProviderNeeds, IdentityNeeds, DirectoryNeeds, LinkNeeds {
	store: ProviderNeeds["store"] &
		IdentityNeeds["store"] &
		LinkNeeds["store"] &
		CodeNeeds["store"] & { audit: Pick<AuditStore, "append"> };
	system: System;
	keyring: ProviderNeeds["keyring"] & IdentityNeeds["keyring"] & LinkNeeds["keyring"];
	flows: Flows;
	throttle: Throttle;
}

/** A browser's way to the provider: the address, and the cookie that it comes back with. */
export interface Redirect {
	location: string;
	cookie: string;
}

/**
 * Begins a login in a browser: sends it to the identity provider or, if that fails, back to the program or page that waits.
 * @throws AppError not_found; provider_unavailable, rate_limited when nothing waits
 * Spec: API › SSO
 */
export async function beginLogin(
	needs: BeginNeeds,
	visitor: Visitor,
	type: "oidc" | "saml",
	name: string,
	waiting: Waiting | null,
): Promise<Redirect> {
	const provider = await findProviderOf(needs, type, name);
	const { flow, cookie } = needs.flows.begin(provider, waiting);
	const location = await guarded(needs, visitor, provider, () => addressAt(needs, provider, flow)).catch((error) =>
		refusalAddress(error, waiting),
	);
	return { location, cookie };
}

const UNSIGNED =
	"the key that signs requests to it is not made yet: restart the server, which makes it, or set the provider again";

async function addressAt(needs: BeginNeeds, { id, name, is }: Provider<"oidc" | "saml">, flow: Flow): Promise<string> {
	if (is.type === "oidc")
		return (await needs.protocols.oidc()).authorizationUrl(id, is.settings, oidcFlow(needs, flow));
	if (is.settings.request_key === undefined) throw new ProviderUnavailable(UNSIGNED);
	const sp = serviceProvider(needs, name, is.settings);
	const saml = await needs.protocols.saml();
	return saml.loginUrl(id, is.settings, sp, flow.state, needs.system.now(), isAskedAgain(flow));
}

const oidcFlow = ({ address }: BeginNeeds, flow: Flow) => {
	const { provider, state, nonce, verifier } = flow;
	const redirect_uri = `${address()}/api/v1/auth/oidc/${provider}/callback`;
	return { redirect_uri, state, nonce, verifier, reauthenticate: isAskedAgain(flow) };
};

/**
 * Ends an OpenID Connect login. Its state is used up before the provider is asked: a code is tried once.
 * @throws AppError unauthorized and whatever `guarded` makes of a refusal, unless a known program waits for the error
 * Spec: API › SSO. Design: §11
 */
export async function endOidcLogin(
	needs: LoginNeeds,
	visitor: Visitor,
	name: string,
	query: Record<string, string>,
	cookies: string | undefined,
): Promise<LoginResult> {
	const provider = await findProviderOf(needs, "oidc", name);
	return finishLogin(needs, visitor, provider, async (ask) => {
		const { state = "" } = query;
		const flow = needs.flows.open(cookies, provider).find((begun) => isSame(begun.state, state));
		if (flow === undefined) throw new SsoRefusal("request");
		if (!(await needs.store.sso.consume(usedBy(flow)))) throw new SsoRefusal("replay");
		const oidc = await needs.protocols.oidc();
		const { id, is } = provider;
		const source = sourceGroup(visitor.ip);
		const asserted = await ask(flow, async () => {
			const found = await oidc.identify(id, is.settings, oidcFlow(needs, flow), query, source);
			checkSignedInAgain(needs, flow, found);
			return found;
		});
		return createResult(needs, visitor, provider, flow, asserted, []);
	});
}

/**
 * Ends a SAML login. The request and the assertion are used up in the same step that opens the session.
 * @throws AppError unauthorized and whatever `guarded` makes of a refusal, unless a known program waits for the error
 * Spec: API › SSO. Design: §11
 */
export async function endSamlLogin(
	needs: LoginNeeds,
	visitor: Visitor,
	name: string,
	response: string,
	cookies: string | undefined,
): Promise<LoginResult> {
	const provider = await findProviderOf(needs, "saml", name);
	return finishLogin(needs, visitor, provider, async (ask) => {
		const flows = needs.flows.open(cookies, provider);
		const [first, ...others] = flows;
		if (first === undefined) throw new SsoRefusal("request");
		const { settings } = provider.is;
		const answer = {
			response,
			request_ids: flows.map(({ state }) => state),
			source: sourceGroup(visitor.ip),
			now: needs.system.now(),
		};
		const saml = await needs.protocols.saml();
		// Of several logins, only a valid answer tells which one it is.
		const only = others.length === 0 ? first : undefined;
		const sp = serviceProvider(needs, name, settings);
		const asserted = await ask(only, () => saml.identify(settings, sp, answer));
		const flow = flows.find(({ state }) => state === asserted.request_id);
		if (flow === undefined) throw new SsoRefusal("request");
		await ask(flow, async () => checkSignedInAgain(needs, flow, asserted));
		const assertion = hash("sha256", `assertion ${name} ${asserted.issuer} ${asserted.assertion_id}`, "buffer");
		return createResult(needs, visitor, provider, flow, asserted, [
			usedBy(flow),
			{ digest: assertion, until: asserted.until },
		]);
	});
}

/** Requires of somebody who was asked to sign in again that this has happened since. @throws SsoRefusal auth_time */
function checkSignedInAgain({ system }: LoginNeeds, { waiting }: Flow, { authenticated_ms }: Asserted): void {
	const since_ms = waiting?.since_ms;
	if (since_ms === undefined) return;
	if (!hasSignedInSince(since_ms, authenticated_ms, system.now().getTime())) throw new SsoRefusal("auth_time");
}

async function createResult(
	needs: LoginNeeds,
	visitor: Visitor,
	provider: Provider,
	flow: Flow,
	asserted: Asserted,
	used: OneTime[],
): Promise<LoginResult> {
	const cookie = needs.flows.clear(flow);
	const { waiting } = flow;
	if (waiting === null) return { cookie, signedIn: await signIn(needs, visitor, provider, asserted, used) };
	for (const one of used) if (!(await needs.store.sso.consume(one))) throw new SsoRefusal("replay");
	const code = needs.system.randomBytes(CODE_BYTES).toString("base64url");
	await keepLogin(needs, code, { provider, asserted, waiting, until_ms: needs.system.now().getTime() + CODE_MS });
	return { cookie, location: `${waiting.address}?code=${code}` };
}

/** A program's proof: the code that its browser brought, and the text whose digest it sent at the beginning. */
export interface Proof {
	code: string;
	verifier: string;
}

/**
 * Opens the session for a program whose browser has signed in. While only an invitation is missing, the code stays valid for it: for 5 minutes.
 * @throws AppError unauthorized and whatever `guarded` makes of a refusal
 * Design: §15
 */
export async function redeemCode(
	needs: LoginNeeds,
	visitor: Visitor,
	{ invitation, ...proof }: Proof & { invitation: string | undefined },
): Promise<SignedIn> {
	const pending = await redeem(needs, visitor, proof);
	const { provider, asserted } = pending;
	try {
		return await guarded(needs, visitor, provider, () =>
			signIn(needs, visitor, provider, asserted, [], { invitation }),
		);
	} catch (error) {
		if (isUninvited(error)) await keepForInvitation(needs, proof.code, pending);
		throw error;
	}
}

/** Tells whether another code of an invitation could end a refused first sign-in well. */
export function isUninvited(error: unknown): error is AppError {
	return error instanceof AppError && ["registration_disabled", "invalid_credentials"].includes(error.code);
}

/** Lets somebody type the code of an invitation, which a new account needs. */
async function keepForInvitation(needs: LoginNeeds, code: string, pending: Pending): Promise<void> {
	const until_ms = pending.isAsked === true ? pending.until_ms : needs.system.now().getTime() + MAX_CODE_MS;
	await keepLogin(needs, code, { ...pending, until_ms, isAsked: true });
}

/** The person behind a code, as shown to the user. */
export interface ShownIdentity {
	provider: string;
	/** Empty when the provider sent none. */
	email: string;
	/** The subject when the provider sent neither a name nor an e-mail. */
	name: string;
}

/**
 * Links the person whom a browser's login proved with the account of the signed-in user, once that user has seen who it is: somebody else on the
 * machine may have brought the code.
 * @param link whether to link now, and the account's password and code for it; until then the code stays valid
 * @throws AppError unauthorized, conflict, limit_reached, and as proveOwner
 */
export async function linkByCode(
	needs: LoginNeeds,
	actor: Actor,
	proof: Proof,
	link: { confirm: boolean; current_password: string | undefined; factor_code?: string | undefined },
): Promise<ShownIdentity> {
	requireSession(actor, "link an identity");
	const asked = { current_password: link.current_password, code: link.factor_code };
	const owner = link.confirm ? await proveForLink(needs, actor, asked, "factor_code") : undefined;
	const pending = await redeem(needs, actor, proof);
	const { provider, asserted } = pending;
	if (owner) await guarded(needs, actor, provider, () => linkIdentity(needs, actor, owner, provider, asserted));
	else await keepLogin(needs, proof.code, pending);
	return {
		provider: provider.name,
		email: asserted.email ?? "",
		name: asserted.name ?? (asserted.email === undefined ? asserted.subject : ""),
	};
}

async function redeem(needs: LoginNeeds, visitor: Visitor, { code, verifier }: Proof) {
	await needs.throttle.checkRefusals(visitor.ip);
	const digest = hash("sha256", verifier, "base64url");
	const pending = await takeLogin(
		needs,
		code,
		(waiting) => "challenge" in waiting && isSame(waiting.challenge, digest),
	);
	if (pending !== undefined) return pending;
	await noteRefusal(needs, visitor, { method: "sso", reason: "code" });
	throw refused();
}

/**
 * Signs in with a directory's password.
 * @throws AppError invalid_credentials, rate_limited, provider_unavailable and whatever `guarded` makes of a refusal
 * Spec: API › SSO
 */
export async function loginWithDirectory(
	needs: LoginNeeds,
	visitor: Visitor,
	name: string,
	{ invitation, ...input }: { username: string; password: string; invitation: string | undefined },
): Promise<SignedIn> {
	const provider = await findProviderOf(needs, "ldap", name);
	const { account: counted_as, asserted } = await askDirectory(needs, visitor, provider, input);
	const given = { counted_as, invitation };
	return guarded(needs, visitor, provider, () => signIn(needs, visitor, provider, asserted, [], given));
}

/**
 * Links the person whom a directory's password proves with the signed-in account.
 * @throws AppError as loginWithDirectory and proveOwner; conflict, limit_reached
 */
export async function linkByDirectory(
	needs: LoginNeeds,
	actor: Actor,
	name: string,
	{ current_password, code, ...input }: { username: string; password: string } & Asked,
): Promise<void> {
	requireSession(actor, "link an identity");
	const provider = await findProviderOf(needs, "ldap", name);
	const owner = await proveForLink(needs, actor, { current_password, code });
	const { asserted } = await askDirectory(needs, actor, provider, input);
	await guarded(needs, actor, provider, () => linkIdentity(needs, actor, owner, provider, asserted));
}

function isSame(a: string, b: string): boolean {
	const [left, right] = [hash("sha256", a, "buffer"), hash("sha256", b, "buffer")];
	return timingSafeEqual(left, right);
}
