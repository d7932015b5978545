import * as v from "valibot";
import type { KnownSources } from "../accounts/known-sources.ts";
import { type Account, type AccountStore, Email } from "../accounts/model.ts";
import { newSession, type SessionNeeds } from "../accounts/session.ts";
import { type Visitor, visitorEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { findInvitation, type InvitationUseNeeds, invitationsFor } from "../invitations/use.ts";
import type { Limits } from "../limits.ts";
import type { Role } from "../policy/model.ts";
import type { System } from "../system.ts";
import { confirmedAt, isOpenTo } from "./decide.ts";
import {
	type Asserted,
	type IdentityKey,
	type InvitedArrival,
	type MappedRole,
	type OneTime,
	type SsoLogin,
	SsoRefusal,
	type SsoStore,
} from "./model.ts";
import type { Provider } from "./providers.ts";
import { hasRealm } from "./role-mappings.ts";
import type { CommonSettings } from "./settings.ts";

/** A person who has signed in. Spec: API › SSO */
export interface SignedIn {
	token: string;
	/** Unix seconds. */
	expires_at: number;
	user: { id: string; email: string; name: string };
}

/** Dependencies of signing in. */
export interface IdentityNeeds extends SessionNeeds, InvitationUseNeeds {
	store: InvitationUseNeeds["store"] & { accounts: Pick<AccountStore, "byEmail" | "byId">; sso: SsoStore };
	system: System;
	known_sources: Pick<KnownSources, "note">;
	limits: Pick<Limits, "refuse">;
}

/** Attempts to read accounts that change in between. */
const MAX_READINGS = 5;
const MAX_NAME_BYTES = 255;
/** Best first. */
const BY_RANK: readonly Role[] = ["admin", "member", "viewer"];

/**
 * Signs in the person whom a provider vouched for. The account is the one linked with the identity, a new one or, if the provider is trusted for
 * the address, one without a password whose holder was vouched for, too, and is no other person at this provider. An e-mail alone opens nothing.
 * @param used what the login uses up
 * @param given what the person typed: under which guesses of its password are counted, the account's e-mail when there is no password; the code of an
 * invitation, which only a new account uses
 * @throws SsoRefusal
 * Spec: API › SSO. Design: §11, §15
 */
export async function signIn(
	needs: IdentityNeeds,
	visitor: Visitor,
	provider: Provider,
	asserted: Asserted,
	used: OneTime[],
	given: { counted_as?: string; invitation?: string | undefined } = {},
): Promise<SignedIn> {
	const identity = identityOf(provider, asserted);
	const { type, settings } = provider.is;
	const confirmed_at = confirmedAt(asserted.authenticated_ms, needs.system.now().getTime());
	for (let readings = 0; readings < MAX_READINGS; readings++) {
		const { account, arrival } = await findAccount(needs, identity, settings, asserted, given.invitation);
		const { token, expires_at, session } = await newSession(needs, account.id, provider.name, confirmed_at);
		const roles = mappedRoles(needs, settings, asserted.groups);
		const link_id = needs.system.uuid();
		const facts = { method: type, provider: provider.name };
		const event = visitorEvent(visitor, needs.system.now(), "auth.login", account.id, facts);
		const known = needs.known_sources.note(given.counted_as ?? account.email, visitor.ip);
		const outcome = await needs.store.sso.signIn({ identity, link_id, session, known, arrival, used, roles }, event);
		if (outcome === "replay") throw new SsoRefusal("replay");
		if (outcome === "not_invited")
			throw new SsoRefusal(given.invitation === undefined ? "not_provisioned" : "invitation");
		if (outcome === "changed") continue;
		if (outcome !== "done") needs.limits.refuse(outcome);
		const { id, email, name } = account;
		return { token, expires_at, user: { id, email, name } };
	}
	throw new AppError("conflict", "the account changed during the login: start the login again");
}

/** Names a person at a provider. */
export function identityOf({ name }: Provider, { issuer, subject }: Asserted): IdentityKey {
	return { provider: name, issuer, subject };
}

interface Found {
	account: Account;
	arrival: SsoLogin["arrival"];
}

async function findAccount(
	needs: IdentityNeeds,
	identity: IdentityKey,
	settings: CommonSettings,
	asserted: Asserted,
	code: string | undefined,
): Promise<Found> {
	const owner_id = await needs.store.sso.owner(identity);
	const owner = owner_id === undefined ? undefined : await needs.store.accounts.byId(owner_id);
	if (owner !== undefined) {
		if (owner.disabled_at !== null) throw new SsoRefusal("disabled");
		return { account: owner, arrival: { kind: "known" } };
	}
	const address = v.safeParse(Email, asserted.email);
	if (!address.success) throw new SsoRefusal("email_missing");
	const email = address.output;
	const domain = email.slice(email.lastIndexOf("@") + 1);
	const isTrusted = asserted.email_verified === true && settings.trusted_email_domains.includes(domain);
	const existing = await needs.store.accounts.byEmail(email);
	if (existing !== undefined) {
		const isOpen = isTrusted && isOpenTo(identity.provider, existing, await needs.store.sso.identitiesOf(existing.id));
		if (!isOpen) throw new SsoRefusal("email_taken");
		return { account: existing, arrival: { kind: "linked" } };
	}
	const isAllowed = settings.allowed_domains.length === 0 || settings.allowed_domains.includes(domain);
	if (!isAllowed) throw new SsoRefusal("not_provisioned");
	const invitations = await invitationsOf(needs, email, isTrusted, code);
	const isNeeded = code !== undefined || !settings.auto_provision;
	if (isNeeded && invitations.length === 0) throw new SsoRefusal("not_provisioned");
	const account = newAccount(needs, email, asserted.name);
	const invited = { invitations, isNeeded };
	return { account, arrival: { kind: "created", account, is_vouched: isTrusted, invited } };
}

/** Finds what a new account is invited with: by the code, or without one by an address that is proven to be this person's. @throws SsoRefusal. Design: §15 */
async function invitationsOf(
	needs: IdentityNeeds,
	email: string,
	isTrusted: boolean,
	code: string | undefined,
): Promise<InvitedArrival["invitations"]> {
	if (code === undefined) return isTrusted ? invitationsFor(needs, email) : [];
	const invitation = await findInvitation(needs, email, code);
	if (invitation === undefined) throw new SsoRefusal("invitation");
	return [invitation];
}

function newAccount({ system }: IdentityNeeds, email: string, said: string | undefined): Account {
	const name = shorten((said ?? "").toWellFormed().replaceAll("\0", "").trim(), MAX_NAME_BYTES) || email;
	const created_at = system.now().toISOString();
	return { id: system.uuid(), email, name, password: null, instance_admin: false, disabled_at: null, created_at };
}

/** Cuts a text between characters to at most this many bytes. */
function shorten(text: string, bytes: number): string {
	let short = "";
	for (const character of text) {
		if (Buffer.byteLength(short + character) > bytes) break;
		short += character;
	}
	return short;
}

/** Finds the best role that the groups give in each realm named in the provider's settings; none where they give none. */
function mappedRoles({ system }: IdentityNeeds, { role_mappings }: CommonSettings, groups: string[]): MappedRole[] {
	const held = new Set(groups);
	const byRealm = Map.groupBy(role_mappings.filter(hasRealm), ({ realm_id }) => realm_id);
	return [...byRealm].map(([realm_id, mappings]) => {
		const given = mappings.filter(({ group }) => held.has(group)).map(({ role }) => role);
		return { realm_id, role: BY_RANK.find((role) => given.includes(role)), id: system.uuid() };
	});
}
