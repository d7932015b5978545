import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { atMost, errorMessage, PlainText, RequiredText, Text } from "../messages.ts";
import { EMAIL_TOO_LONG, MAX_EMAIL, MAX_RAW_EMAIL, normalEmail, normalizable } from "../normal-text.ts";
import { brief, type Port, read, write } from "../operation.ts";
import type { Role, SessionUse } from "../policy/model.ts";

/** Shortest and longest password in code points after NFKC. Spec: API › Limits. Design: §7.2. */
const PASSWORD_LENGTH = { min: 12, max: 1024 } as const;

/** UTF-16 units of a password before it is normalized, which can turn one into 18. */
const MAX_RAW_PASSWORD = 8192;

const emailTooLong = errorMessage("validation_failed", EMAIL_TOO_LONG);

/** An e-mail in the form compared and stored everywhere: NFKC, trimmed, lower case. Design: §6. */
export const Email = v.pipe(
	RequiredText,
	v.metadata({ type: "string", format: "email", minLength: 3, maxLength: MAX_RAW_EMAIL }),
	v.maxLength(MAX_RAW_EMAIL, emailTooLong),
	normalizable("email"),
	v.transform(normalEmail),
	v.nonEmpty(errorMessage("missing_field", "email is required")),
	v.check((text) => [...text].length <= MAX_EMAIL, emailTooLong),
	v.regex(
		/^[^@\s\p{C}]+@[^@\s\p{C}]+$/u,
		errorMessage("validation_failed", "email must be an address such as ada@example.com"),
	),
);

const codePoints = (text: string) => [...text.normalize("NFKC")].length;

/** A new password. Its length is counted after NFKC, the form that is hashed. */
export const NewPassword = v.pipe(
	RequiredText,
	v.metadata({ type: "string", format: "password", minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max }),
	v.maxLength(
		MAX_RAW_PASSWORD,
		errorMessage("validation_failed", `password must be at most ${PASSWORD_LENGTH.max} characters`),
	),
	normalizable("password"),
	v.check(
		(text) => codePoints(text) >= PASSWORD_LENGTH.min,
		errorMessage("password_too_short", `password must be at least ${PASSWORD_LENGTH.min} characters`),
	),
	v.check(
		(text) => codePoints(text) <= PASSWORD_LENGTH.max,
		errorMessage("validation_failed", `password must be at most ${PASSWORD_LENGTH.max} characters`),
	),
);

/** The code of an invitation as it is typed: one beyond the maximum length is as wrong as any other. Design: §15 */
const InvitationCode = v.pipe(RequiredText, atMost(255, "invitation"));

/** The code of an invitation with a first sign-in, which alone uses it. Design: §15 */
export const Invited = v.object({ invitation: v.optional(InvitationCode) });

/** Spec: API › Accounts and login. */
export const Register = v.object({
	email: Email,
	password: NewPassword,
	name: v.nullish(v.pipe(PlainText, atMost(255, "name")), ""),
	/** Asks for the first account or none. Design: §6 */
	setup_code: v.optional(v.pipe(Text, atMost(255, "setup_code"))),
	/** The code of an invitation. Design: §15 */
	invitation: v.optional(InvitationCode),
});

/**
 * A password to be compared; one beyond the maximum length is as wrong, and takes as long, as any other. One that cannot be normalized is
 * refused before any lookup, since that depends on the text alone.
 */
const givenPassword = (field: string) =>
	v.pipe(
		RequiredText,
		v.transform((text) => (text.length > MAX_RAW_PASSWORD ? "\0" : text)),
		normalizable(field),
	);

/** A code of a second factor as people type it, with spaces or hyphens: of an authenticator app, or a recovery code. Design: §16 */
export const FactorCode = v.pipe(
	RequiredText,
	atMost(64, "code"),
	v.transform((text) => text.replaceAll(/[\s-]/g, "").toUpperCase()),
);

/** A login's e-mail is compared in its registered form; one beyond the maximum length is simply unknown. Spec: API › Accounts and login. */
export const Login = v.object({
	email: v.pipe(
		RequiredText,
		v.transform((text) => (text.length > MAX_RAW_EMAIL ? "" : text)),
		normalizable("email"),
		v.transform(normalEmail),
	),
	password: givenPassword("password"),
	/** Of the second factor. Design: §16 */
	code: v.nullish(FactorCode),
});

/** The account's password, requested once more. */
export const CurrentPassword = givenPassword("current_password");

/** Design: §15. */
export const SetAdmin = v.object({
	instance_admin: v.boolean(errorMessage("validation_failed", "instance_admin must be true or false")),
});

/** Design: §7.1. */
export const ChangePassword = v.object({
	current_password: CurrentPassword,
	new_password: NewPassword,
	code: v.nullish(FactorCode),
});

/** Limits of an account instead of those in the settings; null or absent where the setting applies. Design: §13. */
export const SetLimits = v.object({ realm_bytes: limit(2 ** 40), realms: limit(1_000_000) });

function limit(most: number) {
	return v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(most)), null);
}

/** An account's own limits; null where the setting applies. */
export interface AccountLimits {
	/** Bytes that each of its realms may hold. */
	realm_bytes: number | null;
	/** Realms that it may own, including deleted ones that can be restored. */
	realms: number | null;
}

export interface Account {
	id: string;
	email: string;
	name: string;
	/** argon2id; null for an account that signs in only through a provider. */
	password: string | null;
	instance_admin: boolean;
	/** ISO 8601 UTC. */
	disabled_at: string | null;
	created_at: string;
}

/** A session's account, as a request needs it. */
export interface SessionOwner {
	user_id: string;
	email: string;
	name: string;
	instance_admin: boolean;
}

export interface Session {
	jti: string;
	user_id: string;
	/** ISO 8601 UTC. */
	created_at: string;
	expires_at: string;
	/** Provider at which its owner signed in; empty for a password. */
	provider: string;
}

/** Use of a right code: a step of a factor, or a recovery code by its digest. The transaction checks that it was not used meanwhile. */
export type FactorProof = { factor_id: string; step: number } | { digest: Buffer };

/**
 * Proof that a session is in its owner's hands: the stored password or, for an account without one, the session's recent sign-in at a provider that the
 * account is linked with. A change that requires the proof checks it again, but not how recent that was. Design: §13
 */
export interface OwnerProof {
	password: string | null;
	jti: string;
	/** Use of a code, where the account has a second factor and the change asks for it. */
	factor?: FactorProof | undefined;
}

/** Counts of an account's holdings. */
export interface Holdings {
	/** Open sessions. */
	sessions: number;
	/** API tokens. */
	tokens: number;
	/** Realms that it owns, including deleted ones that are not yet purged. */
	realms: number;
}

/** Number of accounts beyond which only the instance admin and single sign-on make more. Design: §13 */
export const MAX_ACCOUNTS = 100_000;

/** Sessions of one account: a new one beyond this ends the oldest. Design: §13 */
export const MAX_SESSIONS = 200;

/** Sources kept for one account. Design: §13 */
export const MAX_KNOWN_SOURCES = 32;

/** A sign-in of an account from a source. */
export interface KnownSource {
	/** 32 bytes that identify the account and the source. */
	pair: Buffer;
	/** ISO 8601 UTC. */
	seen_at: string;
	/** A sighting at or after this instant is kept as it is. */
	renew_before: string;
}

/** An invitation with which an account is made; the transaction looks at it again. */
export interface UsedInvitation {
	id: string;
	/** It makes the account only while its maker manages the instance. */
	admin_only: boolean;
	/** Ids of the bindings that it makes, by realm. */
	bindings: { realm_id: string; id: string }[];
}

/** A role of an invitation that its maker may not give any more. */
export interface LeftOutRole {
	/** Slug. */
	realm: string;
	role: Role;
}

/** Outcome of a change of an account's status; any but `done` means that nothing changed. */
export type StatusOutcome = "done" | "no_user" | "last_admin";

/** Operations of the store on accounts and sessions. */
export const accountOperations = {
	/**
	 * Adds an account; the very first of the log becomes instance admin, whatever `instance_admin` says. `only_first` refuses any other account, `most` refuses it
	 * when this many exist. An invitation is used up and gives its roles, but those `left_out`; one that cannot be used refuses the account.
	 */
	register: write<
		(
			account: Account & { only_first?: boolean; most?: number; invitation?: UsedInvitation },
			event: AuditEvent,
		) =>
			| { outcome: "done"; first: boolean; left_out: LeftOutRole[] }
			| { outcome: "email_taken" | "not_first" | "limit_reached" | "not_invited" }
	>({ forgets: [] }),
	byEmail: read<(email: string) => Account | undefined>(),
	byId: read<(id: string) => Account | undefined>(),
	/** Lists accounts whose e-mail begins with the text, in the order of e-mails. */
	startingWith: read<(start: string, limit: number) => Account[]>(),
	/** Tells whether there was ever an account, even if the file has none any more: then no other becomes the first. */
	hadAny: read<() => boolean>(),
	list: read<(after: string, limit: number) => Account[]>(),
	/** Counts what the account holds at the instant. */
	holdings: read<(user_id: string, now: string) => Holdings>(),
	limits: read<(user_id: string) => AccountLimits>(),
	/** Replaces the account's own limits. False when there is no such account. */
	setLimits: write<(input: AccountLimits & { user_id: string }, event: AuditEvent) => boolean>(),
	count: read<() => number>(),
	/** Replaces the hash if it is still `from`, uses the factor up, ends all of the account's sessions but `keep`, and forgets all its sources but `known`. */
	setPassword:
		write<
			(
				input: {
					user_id: string;
					from: string;
					password: string;
					keep: string;
					known?: KnownSource;
					factor?: FactorProof | undefined;
				},
				event: AuditEvent,
			) => "done" | "changed" | "used"
		>(),
	/** Disabling ends the account's sessions and forgets its sources. The last enabled instance admin stays enabled. */
	setDisabled: write<(input: { user_id: string; disabled_at: string | null }, event: AuditEvent) => StatusOutcome>(),
	/** Makes an account an instance admin, or remove that right. The last enabled one stays. */
	setAdmin: write<(input: { user_id: string; instance_admin: boolean }, event: AuditEvent) => StatusOutcome>(),
	/**
	 * Opens a session and stores the source, unless the account is gone, disabled, or has another password or a second factor by now. Of too many
	 * sessions the account's oldest ones end: see decide.ts.
	 */
	openSession: write<
		(input: { session: Session; password: string | null; known?: KnownSource }, event: AuditEvent) => boolean
	>({ forgets: ["access"] }),
	closeSession: write<(jti: string, event: AuditEvent) => boolean>(),
	/** Finds the account of a session that has not ended, unless it is disabled. */
	sessionOwner: read<(jti: string, user_id: string, now: string) => SessionOwner | undefined>({
		in: "access",
		by: 2,
	}),
	session: read<(jti: string) => Session | undefined>(),
	/** Keeps the last use of a session in place of the one before; of too many the longest unused are forgotten. */
	noteUse: brief<(jti: string, use: SessionUse) => void>(),
	/** Tells the last use of each session, where it is known. */
	lastUses: brief<(jtis: readonly string[]) => (SessionUse | undefined)[]>(),
	/** Lists an account's sessions that have not ended by the instant, in the order of their ids. */
	sessions: read<(user_id: string, now: string, after: string, limit: number) => Session[]>(),
	/** Forgets sessions that ended before the instant. */
	dropSessions: write<(ended_before: string) => number>({ forgets: [], inBatches: true }),
	/** Tells whether one of the pairs was seen after the instant. */
	isKnownSource: read<(pairs: readonly Buffer[], since: string) => boolean>(),
	/** Forgets sources last seen before the instant. */
	dropKnownSources: write<(before: string) => number>({ forgets: [], inBatches: true }),
};

/** The store's part for accounts and sessions. */
export type AccountStore = Port<typeof accountOperations>;
