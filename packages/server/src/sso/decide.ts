import type { Account } from "../accounts/model.ts";
import { MAX_BINDINGS, MAX_MEMBERSHIPS, type Role } from "../policy/model.ts";
import { type Identity, MAX_IDENTITIES, type MappedRole, type RoleLimit, type SsoLogin } from "./model.ts";

/** The facts about an account, and about its identities, that decide on links. */
export type LinkedAccount = Pick<Account, "password" | "disabled_at" | "instance_admin">;
export type LinkedIdentity = Pick<Identity, "id" | "provider" | "is_vouched">;

/**
 * Decides whether an account may be linked with the person who has its address now. The account belongs to somebody else if another person of this
 * provider had the address before, and may do so if its first user only claimed the address.
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

/** The current facts about a login's account, read before the login takes effect. */
export interface ArrivalFacts {
	/** The account that the identity is linked with. */
	owner_id: string | undefined;
	/** The account that the login is for, and its identities. */
	account: LinkedAccount | undefined;
	identities: readonly LinkedIdentity[];
	/** True if an account already has the e-mail of the new one. */
	isEmailTaken: boolean;
}

/** Decides whether the accounts are still as they were when the login was decided. */
export function isStillSo({ identity, session, arrival }: SsoLogin, facts: ArrivalFacts): boolean {
	const { owner_id, account, identities, isEmailTaken } = facts;
	if (arrival.kind === "known") return owner_id === session.user_id && account?.disabled_at === null;
	if (owner_id !== undefined) return false;
	return arrival.kind === "linked" ? isOpenTo(identity.provider, account, identities) : !isEmailTaken;
}

/** Decides whether to link an identity with an account at its owner's request. @param count identities that the account has */
export function decideLink(
	user_id: string,
	owner_id: string | undefined,
	count: number,
): "link" | "done" | "linked_elsewhere" | "full" {
	if (owner_id !== undefined) return owner_id === user_id ? "done" : "linked_elsewhere";
	return count >= MAX_IDENTITIES ? "full" : "link";
}

/**
 * Decides whether a link may be removed. The last way to sign in stays: a password, or another identity at an existing provider.
 * An unverified address stays a mere claim, whichever identity remains: `isVouched` is then false.
 * @param providers that exist
 */
export function decideUnlink(
	id: string,
	account: LinkedAccount | undefined,
	identities: readonly LinkedIdentity[],
	providers: readonly string[],
): { outcome: "done"; provider: string; isVouched: boolean } | { outcome: "unknown" | "last" } {
	const link = identities.find((identity) => identity.id === id);
	if (link === undefined) return { outcome: "unknown" };
	const others = identities.filter((identity) => identity !== link);
	const hasOtherWay =
		typeof account?.password === "string" || others.some(({ provider }) => providers.includes(provider));
	if (!hasOtherWay) return { outcome: "last" };
	return { outcome: "done", provider: link.provider, isVouched: link.is_vouched };
}

/** A live realm in which a login may change the role of its account. */
export interface RealmOfRole {
	slug: string;
	owner_id: string;
	/** The account's binding there. */
	held: { role: Role; granted_by: string } | undefined;
	/** Bindings of the realm. */
	count: number;
}

/** A role in a realm that a login changes. */
export interface RoleChange extends MappedRole {
	slug: string;
	/** True if the provider gave the account another role before. */
	isHeld: boolean;
	/** The limit of bindings that leaves the role out, if one does. */
	left_out_by: RoleLimit | undefined;
}

/** Names the provider as the giver of a role. */
export function granterOf({ identity }: Pick<SsoLogin, "identity">): string {
	return `sso:${identity.provider}`;
}

/** Lists the roles that a login sets: those that it brings, and none in realms where the provider gave one before and now names none. @param granted ids of realms */
function rolesOf(login: SsoLogin, granted: readonly string[]): MappedRole[] {
	const mapped = new Set(login.roles.map(({ realm_id }) => realm_id));
	const left = granted.filter((realm_id) => !mapped.has(realm_id));
	return [...login.roles, ...left.map((realm_id) => ({ realm_id, role: undefined, id: "" }))];
}

/**
 * Decides which roles a login changes; those that it removes make room for others.
 * @param granted ids of realms where the provider gave a role before
 * @param memberships realms that the account is bound in
 */
export function decideRoles(
	login: SsoLogin,
	granted: readonly string[],
	memberships: number,
	realmOf: (realm_id: string) => RealmOfRole | undefined,
): RoleChange[] {
	const changes = rolesOf(login, granted).flatMap((role) => decideRole(login, role, realmOf(role.realm_id)) ?? []);
	let count = memberships - changes.filter(({ role, isHeld }) => isHeld && role === undefined).length;
	return changes.map((change) => {
		if (change.isHeld || change.left_out_by !== undefined) return change;
		return { ...change, left_out_by: ++count > MAX_MEMBERSHIPS ? "bindings_per_account" : undefined };
	});
}

/** Decides whether a login changes a role. The owner, and roles that somebody else gave, stay as they are. */
function decideRole(login: SsoLogin, mapped: MappedRole, realm: RealmOfRole | undefined): RoleChange | undefined {
	if (realm === undefined || realm.owner_id === login.session.user_id) return undefined;
	const { slug, held, count } = realm;
	if (held?.role === mapped.role || (held !== undefined && held.granted_by !== granterOf(login))) return undefined;
	return {
		...mapped,
		slug,
		isHeld: held !== undefined,
		left_out_by: held === undefined && count >= MAX_BINDINGS ? "bindings_per_realm" : undefined,
	};
}

/** Tells whether a limit leaves the role out. */
export function isLeftOut({ left_out_by }: RoleChange): boolean {
	return left_out_by !== undefined;
}

/** Names the realms whose roles a limit leaves out, as the event does; undefined when there are none. */
export function leftOut(changes: readonly RoleChange[]): string | undefined {
	const realms = changes.filter(isLeftOut).map(({ slug }) => slug);
	return realms.length === 0 ? undefined : realms.join();
}

/** Milliseconds by which a provider's clock may differ from ours when it says that somebody has just signed in. */
const CLOCK_DIFFERENCE_MS = 30_000;

/**
 * Decides whether a person has signed in at the provider since they were asked to.
 * @param authenticated_ms when the provider says that they did, if it does
 */
export function hasSignedInSince(since_ms: number, authenticated_ms: number | undefined, now_ms: number): boolean {
	if (authenticated_ms === undefined) return false;
	return authenticated_ms >= since_ms - CLOCK_DIFFERENCE_MS && authenticated_ms <= now_ms + CLOCK_DIFFERENCE_MS;
}

/**
 * Finds the time from which a sign-in counts as a confirmation that it is the person: when the provider says that they signed in there.
 * @returns undefined when the provider does not say so, or names a time that is still to come
 */
export function confirmedAt(authenticated_ms: number | undefined, now_ms: number): number | undefined {
	const isKnown = authenticated_ms !== undefined && authenticated_ms <= now_ms + CLOCK_DIFFERENCE_MS;
	return isKnown ? Math.min(authenticated_ms, now_ms) : undefined;
}
