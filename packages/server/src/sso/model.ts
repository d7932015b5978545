import * as v from "valibot";
import type { Account, KnownSource, OwnerProof, Session, UsedInvitation } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import { errorMessage, Instant, RequiredText, Text, Uuid } from "../messages.ts";
import { normalizable } from "../normal-text.ts";
import { brief, type Port, read, write } from "../operation.ts";
import type { Role } from "../policy/model.ts";

/** Protocols of providers. Spec: API › Resources and their fields */
export const PROVIDER_TYPES = ["oidc", "saml", "ldap"] as const;

export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** A person, as a provider said and we verified. */
export interface Asserted {
	/** The source: an OIDC issuer, a SAML entity id, the base DN of a directory. */
	issuer: string;
	/** Stable and unique at the issuer, compared byte by byte. */
	subject: string;
	/** As the provider sends it; undefined when it sends none. */
	email: string | undefined;
	/** True if the provider says that this person owns the address: OpenID Connect explicitly, SAML never, a directory by having it. */
	email_verified: boolean;
	name: string | undefined;
	groups: string[];
	/** Milliseconds since 1970 at which the person signed in at the provider, if it says so. */
	authenticated_ms?: number;
}

/** The reason for a refused login, as the audit log records it. Callers never learn it. */
export type RefusalReason =
	/** No login was begun here for this browser and provider, or it is already finished, or too old. */
	| "request"
	/** The provider's answer violates the protocol. */
	| "malformed"
	/** The provider reported that the login failed. */
	| "provider_error"
	| "signature"
	| "algorithm"
	| "issuer"
	| "audience"
	| "recipient"
	| "expired"
	| "nonce"
	| "code"
	| "replay"
	| "subject"
	/** A directory: no such person, or more than one. */
	| "unknown"
	| "password"
	| "disabled"
	/** The provider sent no e-mail that an account can have. */
	| "email_missing"
	/** An account has this e-mail and is not linked. */
	| "email_taken"
	/** The identity to be linked belongs to another account. */
	| "linked_elsewhere"
	/** The provider's settings admit no account for this new person. */
	| "not_provisioned"
	/** The provider does not say that the person has signed in again since they were asked to. */
	| "auth_time"
	/** Another person than the owner of the session signed in again. */
	| "another_person"
	/** The code of an invitation is not for this address, or cannot be used. */
	| "invitation"
	/** The provider could not be asked. */
	| "unavailable";

/** An answer of a provider, or of a person, that proves nothing. The message is for developers and contains nothing that was received. */
export class SsoRefusal extends Error {
	override readonly name = "SsoRefusal";
	readonly reason: RefusalReason;

	constructor(reason: RefusalReason, options?: ErrorOptions) {
		super(reason, options);
		this.reason = reason;
	}
}

/** A provider that is unreachable, or does not answer in time. The message says what to check, and contains nothing that was received. */
export class ProviderUnavailable extends Error {
	override readonly name = "ProviderUnavailable";
}

/** Makes the refusal of a login that does not get its turn. @param limit its name */
export function tooManyLogins(limit: string): ProviderUnavailable {
	return new ProviderUnavailable(`too many logins are waiting (${limit}): try again in a moment`);
}

/** A provider as it is stored. */
export interface ProviderRow {
	/** Changes whenever the provider is set. */
	id: string;
	name: string;
	type: ProviderType;
	display_name: string;
	/** Its settings as JSON, sealed. */
	sealed: Buffer;
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** A person at a provider. */
export interface IdentityKey {
	/** The provider's name. */
	provider: string;
	issuer: string;
	subject: string;
}

/** A person at a provider who signs in to an account. */
export interface Identity extends IdentityKey {
	id: string;
	/** True if the account was made for this identity. */
	made_account: boolean;
	/** True if the provider was trusted for the address that the account was made with; always true for the others. */
	is_vouched: boolean;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** An identity as its account's owner and the instance admin see it. */
export const IdentitySchema = v.object({
	id: Uuid,
	provider: v.string(),
	issuer: v.string(),
	subject: v.string(),
	made_account: v.boolean(),
	created_at: Instant,
});

/** The public fields of an identity. */
export function shownIdentity({ id, provider, issuer, subject, made_account, created_at }: Identity) {
	return { id, provider, issuer, subject, made_account, created_at };
}

/** An identity to link with an account by hand. */
export interface NewLink {
	id: string;
	identity: IdentityKey;
	user_id: string;
	at: string;
	proof: OwnerProof;
}

/** The most identities that one account may have. */
export const MAX_IDENTITIES = 20;

/** A value that is valid for one login: its digest, and the ISO 8601 UTC instant until which it must be remembered. */
export interface OneTime {
	digest: Buffer;
	until: string;
}

/** A role that a provider's groups give in a realm, or remove when it is undefined. */
export interface MappedRole {
	realm_id: string;
	role: Role | undefined;
	/** Id of the binding, if one has to be made. */
	id: string;
}

/** The invitations that a new account uses. */
export interface InvitedArrival {
	invitations: UsedInvitation[];
	/** Makes no account if none of them can be used any more. */
	isNeeded: boolean;
}

/** A login that a provider vouched for. */
export interface SsoLogin {
	identity: IdentityKey;
	/** Id of the link, if one has to be made. */
	link_id: string;
	session: Session;
	/** The identity's relation to the account `session.user_id`: already its own, to be linked with it, or the first of a new account. */
	arrival:
		| { kind: "known" }
		| { kind: "linked" }
		/** `is_vouched`: the provider is trusted for the address and says that it is verified. */
		| { kind: "created"; account: Account; is_vouched: boolean; invited?: InvitedArrival };
	/** The source that the account is known from after this login. */
	known: KnownSource;
	/** The login uses up all of them. */
	used: OneTime[];
	roles: MappedRole[];
}

/** A limit that keeps a login from setting a role. */
export type RoleLimit = "bindings_per_realm" | "bindings_per_account";

/**
 * The outcome of a login. `replay`: something was used before. `changed`: accounts differ from what was read; nothing happened, read again.
 * `not_invited`: no invitation that the new account needs can be used; nothing happened.
 * A limit: the session is open, and a role is left out because of it.
 */
export type SsoOutcome = "done" | "replay" | "changed" | "not_invited" | RoleLimit;

/** Maximum number of finished logins that wait for their programs. */
export const MAX_CODES = 1000;

/** Milliseconds for which a finished login waits at most: while only an invitation is missing. */
export const MAX_CODE_MS = 5 * 60_000;

/** A finished login that waits for its program. */
export interface WaitingCode {
	/** Of the code. */
	digest: Buffer;
	/** The login as JSON, sealed for this digest. */
	sealed: Buffer;
	until_ms: number;
}

/** Operations of the store on single sign-on. */
export const ssoOperations = {
	/** All providers by name. */
	providers: read<() => ProviderRow[]>(),
	provider: read<(name: string) => ProviderRow | undefined>(),
	/** Adds the provider, or replaces the one with its name. @param row `replaces` is the id that this one must have; else nothing changes, and it is false */
	setProvider: write<(row: ProviderRow & { replaces?: string }, event: AuditEvent) => boolean>(),
	/** False when no such provider exists. Identities stay, for a later provider of that name. */
	removeProvider: write<(name: string, event: AuditEvent) => boolean>(),
	/** Id of the account that the identity belongs to. */
	owner: read<(identity: IdentityKey) => string | undefined>(),
	/** The identities that sign in to an account. */
	identitiesOf: read<(user_id: string) => Identity[]>(),
	/** Adds or links what the login brings, sets the mapped roles, and opens a session. */
	signIn: write<(login: SsoLogin, event: AuditEvent) => SsoOutcome>(),
	/** Links an identity with an account at its owner's request; `unproven` when the owner's proof is no longer valid, `used` when its code was used. */
	link: write<(link: NewLink, event: AuditEvent) => "done" | "linked_elsewhere" | "full" | "unproven" | "used">(),
	/** Removes a link of an account; `last` when nobody could sign in to the account any more. */
	unlink:
		write<
			(
				input: { id: string; user_id: string; proof: OwnerProof },
				event: AuditEvent,
			) => "done" | "unknown" | "last" | "unproven" | "used"
		>(),
	/** Uses up a one-time value; false when it was used before. */
	consume: write<(used: OneTime) => boolean>({ forgets: [] }),
	/** Keeps a finished login until its code is redeemed. When there are too many, the one that ends first is removed. */
	keepCode: brief<(code: WaitingCode, now_ms: number) => void>(),
	/** Takes the box of the login that a code stands for, once; undefined when there is none, or it has ended. */
	takeCode: brief<(digest: Buffer, now_ms: number) => Buffer | undefined>(),
	/** Forgets the one-time values that need not be remembered any more. */
	forgetUsed: write<(before: string) => number>({ forgets: [], inBatches: true }),
};

/** The store's operations for single sign-on. */
export type SsoStore = Port<typeof ssoOperations>;

/** Maximum length of a user name, in characters. */
const MAX_USERNAME = 1024;

/** Replaces a longer name, which no directory knows, by one that cannot exist: processing it further would cost time. Spec: API › SSO. */
export const DirectoryCredentials = v.object({
	username: v.pipe(
		RequiredText,
		v.transform((text) => (text.length > MAX_USERNAME ? "\0" : text)),
		normalizable("username"),
	),
	password: v.pipe(Text, v.nonEmpty(errorMessage("missing_field", "password is required"))),
});
