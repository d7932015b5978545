import type { Account } from "../accounts/model.ts";
import { MAX_BINDINGS, type Role } from "../policy/model.ts";
import { type Identity, MAX_IDENTITIES, type MappedRole, type SsoLogin } from "./model.ts";

/** What is looked at of an account, and of its identities. */
export type LinkedAccount = Pick<Account, "password" | "disabled_at" | "instance_admin">;
export type LinkedIdentity = Pick<Identity, "id" | "provider" | "is_vouched">;

/**
 * Decides whether an account may be linked with whoever has its address now. It is somebody else's when another person of this provider had it
 * before, and may be when whoever came first had only said that the address was theirs.
 */
export function isOpenTo(
	provider: string,
	account: LinkedAccount | undefined,
	identities: readonly LinkedIdentity[],
): boolean {
	if (account === undefined || account.password !== null || account.disabled_at !== null || account.instance_admin)
		return false;
	return identities.every((identity) => identity.provider !== provider && identity.is_vouched);
}

/** What is known of a login's account when it is to be made true. */
export interface ArrivalFacts {
	/** Whose the identity is. */
	owner_id: string | undefined;
	/** The account that the login is for, and its identities. */
	account: LinkedAccount | undefined;
	identities: readonly LinkedIdentity[];
	/** Whether somebody has the e-mail of the account that is to be made. */
	isEmailTaken: boolean;
}

/** Decides whether accounts are what they were when the login was decided. */
export function isStillSo({ identity, session, arrival }: SsoLogin, facts: ArrivalFacts): boolean {
	const { owner_id, account, identities, isEmailTaken } = facts;
	if (arrival.kind === "known") return owner_id === session.user_id && account?.disabled_at === null;
	if (owner_id !== undefined) return false;
	return arrival.kind === "linked" ? isOpenTo(identity.provider, account, identities) : !isEmailTaken;
}

/** Decides whether an identity is linked with an account whose owner asks for it. @param count identities that the account has */
export function decideLink(
	user_id: string,
	owner_id: string | undefined,
	count: number,
): "link" | "done" | "linked_elsewhere" | "full" {
	if (owner_id !== undefined) return owner_id === user_id ? "done" : "linked_elsewhere";
	return count >= MAX_IDENTITIES ? "full" : "link";
}

/**
 * Decides whether a link goes: not the last way to sign in, which is a password or another identity at a provider that there is.
 * @param providers that there are
 */
export function decideUnlink(
	id: string,
	account: LinkedAccount | undefined,
	identities: readonly LinkedIdentity[],
	providers: readonly string[],
): { outcome: "done"; provider: string } | { outcome: "unknown" | "last" } {
	const link = identities.find((identity) => identity.id === id);
	if (link === undefined) return { outcome: "unknown" };
	const others = identities.filter((identity) => identity !== link);
	const hasOtherWay =
		typeof account?.password === "string" || others.some(({ provider }) => providers.includes(provider));
	return hasOtherWay ? { outcome: "done", provider: link.provider } : { outcome: "last" };
}

/** A live realm in which a login may change the role of its account. */
export interface RealmOfRole {
	realm_id: string;
	owner_id: string;
	/** The account's binding there. */
	held: { role: Role; granted_by: string } | undefined;
	/** Bindings of the realm. */
	count: number;
}

/** A role in a realm that a login changes. */
export interface RoleChange extends MappedRole {
	realm_id: string;
	/** Whether the provider gave the account another one before. */
	isHeld: boolean;
	/** Whether the realm has no room for one more binding. */
	isLeftOut: boolean;
}

/** Names the provider as the giver of a role. */
export function granterOf({ identity }: Pick<SsoLogin, "identity">): string {
	return `sso:${identity.provider}`;
}

/** Roles that a login is about: those that it brings, and none in realms where the provider gave one before and names no more. */
export function rolesOf(login: SsoLogin, granted: readonly string[]): MappedRole[] {
	const mapped = new Set(login.roles.map(({ realm }) => realm));
	const left = granted.filter((realm) => !mapped.has(realm));
	return [...login.roles, ...left.map((realm) => ({ realm, role: undefined, id: "" }))];
}

/** Decides whether a login changes a role. What somebody else gave is left alone, and so is the owner. */
export function decideRole(
	login: SsoLogin,
	mapped: MappedRole,
	realm: RealmOfRole | undefined,
): RoleChange | undefined {
	if (realm === undefined || realm.owner_id === login.session.user_id) return undefined;
	const { realm_id, held, count } = realm;
	if (held?.role === mapped.role || (held !== undefined && held.granted_by !== granterOf(login))) return undefined;
	return {
		...mapped,
		realm_id,
		isHeld: held !== undefined,
		isLeftOut: held === undefined && count >= MAX_BINDINGS,
	};
}
