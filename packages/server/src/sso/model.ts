import * as v from "valibot";
import type { Account, KnownSource, OwnerProof, Session } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import { Instant, Uuid } from "../messages.ts";
import { type Port, read, write } from "../operation.ts";
import type { Role } from "../policy/model.ts";

/** What a provider speaks. Spec: API › Resources and their fields */
export const PROVIDER_TYPES = ["oidc", "saml", "ldap"] as const;

export type ProviderType = (typeof PROVIDER_TYPES)[number];

/** Who somebody is, as a provider said and we verified. */
export interface Asserted {
	/** Who says so: an OIDC issuer, a SAML entity id, the base DN of a directory. */
	issuer: string;
	/** Stable and unique at the issuer, compared byte by byte. */
	subject: string;
	/** As the provider has it; undefined when it said none. */
	email: string | undefined;
	/** Whether the provider says that this person owns the address: OpenID Connect in so many words, SAML never, a directory by having it. */
	email_verified: boolean;
	name: string | undefined;
	groups: string[];
}

/** Why somebody was not let in, as the audit log has it. Callers hear none of it. */
export type RefusalReason =
	/** No login was begun here for this browser and provider, it was finished before, or too long ago. */
	| "request"
	/** The provider's answer is not what the protocol asks for. */
	| "malformed"
	/** The provider said that the login failed. */
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
	/** A directory: no such person, or not exactly one. */
	| "unknown"
	| "password"
	| "disabled"
	/** The provider named no e-mail that an account can have. */
	| "email_missing"
	/** An account has this e-mail and is not linked. */
	| "email_taken"
	/** The identity that was to be linked is another account's. */
	| "linked_elsewhere"
	/** A new person whom the provider's settings do not let in. */
	| "not_provisioned"
	/** The provider could not be asked. */
	| "unavailable";

/** The answer of a provider, or of a person, that proves nothing. The message is for developers and holds nothing that was received. */
export class SsoRefusal extends Error {
	override readonly name = "SsoRefusal";
	readonly reason: RefusalReason;

	constructor(reason: RefusalReason, options?: ErrorOptions) {
		super(reason, options);
		this.reason = reason;
	}
}

/** A provider that cannot be asked now, or does not answer in time. `trouble` says what to look at, and holds nothing that was received. */
export class ProviderUnavailable extends Error {
	override readonly name = "ProviderUnavailable";
	readonly trouble: string;

	constructor(trouble: string, options?: ErrorOptions) {
		super(trouble, options);
		this.trouble = trouble;
	}
}

/** A provider as it is stored. */
export interface ProviderRow {
	/** Changes with every setting. */
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

/** Somebody at a provider. */
export interface IdentityKey {
	/** The provider's name. */
	provider: string;
	issuer: string;
	subject: string;
}

/** Somebody at a provider who signs in to an account. */
export interface Identity extends IdentityKey {
	id: string;
	/** Whether the account was made for it. */
	made_account: boolean;
	/** Whether the provider was trusted for the address that the account was made with; always for the others. */
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

/** What is shown of an identity. */
export function shownIdentity({ id, provider, issuer, subject, made_account, created_at }: Identity) {
	return { id, provider, issuer, subject, made_account, created_at };
}

/** An identity that is to be linked with an account by hand. */
export interface NewLink {
	id: string;
	identity: IdentityKey;
	user_id: string;
	at: string;
	proof: OwnerProof;
}

/** Identities that are linked with one account at most. */
export const MAX_IDENTITIES = 20;

/** Something that is good for one login: a digest, and the ISO 8601 UTC instant until which it must be remembered. */
export interface OneTime {
	digest: Buffer;
	until: string;
}

/** A role that a provider's groups give in a realm, or take away when it is undefined. */
export interface MappedRole {
	/** Slug. */
	realm: string;
	role: Role | undefined;
	/** Id of the binding, should it have to be made. */
	id: string;
}

/** A login that a provider vouched for. */
export interface SsoLogin {
	identity: IdentityKey;
	/** Id of the link, should it have to be made. */
	link_id: string;
	session: Session;
	/** What the identity is to the account `session.user_id`: known to be its own, to be linked with it, or the first of a new account. */
	arrival:
		| { kind: "known" }
		| { kind: "linked" }
		/** `is_vouched`: the provider is trusted for the address and says that it is verified. */
		| { kind: "created"; account: Account; is_vouched: boolean };
	/** Where the account is known from then on. */
	known: KnownSource;
	/** All of them are used up by it. */
	used: OneTime[];
	roles: MappedRole[];
}

/** What became of a login. `replay`: something was used before. `changed`: accounts are not as they were read; nothing happened, read again. */
export type SsoOutcome = "done" | "replay" | "changed";

/** Operations of the store on single sign-on. */
export const ssoOperations = {
	/** All providers by name. */
	providers: read<() => ProviderRow[]>(),
	provider: read<(name: string) => ProviderRow | undefined>(),
	/** Adds it, or takes the place of the one of that name. */
	setProvider: write<(row: ProviderRow, event: AuditEvent) => void>(),
	/** False when there is none. Identities stay, for a provider of that name that comes later. */
	removeProvider: write<(name: string, event: AuditEvent) => boolean>(),
	/** Id of the account whose identity it is. */
	owner: read<(identity: IdentityKey) => string | undefined>(),
	/** By which identities somebody signs in to an account. */
	identitiesOf: read<(user_id: string) => Identity[]>(),
	/** Opens a session, after adding or linking what the login brings, and gives and takes the mapped roles. */
	signIn: write<(login: SsoLogin, event: AuditEvent) => SsoOutcome>(),
	/** Links an identity with an account whose owner asks for it; `unproven` when what showed that is not so any more. */
	link: write<(link: NewLink, event: AuditEvent) => "done" | "linked_elsewhere" | "full" | "unproven">(),
	/** Removes a link of an account; `last` when nobody could sign in to it any more. */
	unlink:
		write<
			(
				input: { id: string; user_id: string; proof: OwnerProof },
				event: AuditEvent,
			) => "done" | "unknown" | "last" | "unproven"
		>(),
	/** Uses something up; false when it was used before. */
	consume: write<(used: OneTime) => boolean>({ forgets: [] }),
	/** Forgets what need not be remembered any more. */
	forgetUsed: write<(before: string) => number>({ forgets: [] }),
};

/** The store's part for single sign-on. */
export type SsoStore = Port<typeof ssoOperations>;
