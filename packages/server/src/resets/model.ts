import * as v from "valibot";
import { Login, NewPassword } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import { atMost, RequiredText } from "../messages.ts";
import { type Port, read, write } from "../operation.ts";

/** Milliseconds for which a reset code can be used. Design: §15 */
const RESET_MS = 24 * 60 * 60 * 1000;

/** A code as it is typed: one beyond the maximum length is as wrong as any other. */
const TypedCode = v.pipe(RequiredText, atMost(255, "code"));

/** Design: §15. */
export const ResetPassword = v.object({
	email: Login.entries.email,
	code: TypedCode,
	new_password: NewPassword,
});

/** A code with which somebody sets a new password of an account. */
export interface ResetCode {
	user_id: string;
	/** Digest of the code, by crypto/codes.ts. */
	digest: Buffer;
	/** Id of the instance admin who made it, or `system` for the machine's administrator. */
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
	expires_at: string;
}

/** Makes the row of a code that can be used from now on. */
export function resetRow(given: Pick<ResetCode, "user_id" | "digest" | "created_by">, now: Date): ResetCode {
	const expires_at = new Date(now.getTime() + RESET_MS).toISOString();
	return { ...given, created_at: now.toISOString(), expires_at };
}

/** Outcome of a recovery on the server's machine. `not_admin`: the account manages nothing, somebody else does, and no factors are to end. */
export type Recovery =
	| { outcome: "no_user" | "not_admin" }
	| ({
			outcome: "done";
			enabled: boolean;
			made_admin: boolean;
			had_password: boolean;
	  } & Partial<DroppedFactors>);

/** Counts of what ended together with an account's second factors. */
export interface DroppedFactors {
	factors_dropped: number;
	sessions_ended: number;
}

/** Operations of the store on reset codes, and on lost second factors. */
export const resetOperations = {
	/** Keeps a code in place of the account's earlier one; any answer but `done` means that nothing changed. */
	make: write<(code: ResetCode, event: AuditEvent) => "done" | "no_user" | "disabled" | "no_password">({ forgets: [] }),
	/** Finds the account's code, unless it has expired. */
	ofUser: read<(user_id: string, now: string) => ResetCode | undefined>(),
	/**
	 * Uses up the code, if it is still the account's and has not expired: replaces the password, ends all sessions and forgets all sources. The event is
	 * also added to each realm that the account owns or is bound in.
	 */
	use: write<
		(input: { user_id: string; digest: Buffer; password: string; at: string }, event: AuditEvent) => "done" | "changed"
	>(),
	/**
	 * Keeps a code for an instance admin and enables the account; when no enabled instance admin is left, for any account, which becomes one.
	 * The account's id is that of the code. `drop_factors` also ends its second factors, recovery codes, password and sessions.
	 */
	recover: write<(code: ResetCode & { drop_factors?: boolean }, event: AuditEvent) => Recovery>(),
	/**
	 * Ends an account's second factors, recovery codes and sessions, even altered ones, and forgets its known sources. The event is also
	 * added to each realm that the account owns or is bound in. Undefined when there is no such account.
	 */
	dropFactors: write<(user_id: string, event: AuditEvent) => DroppedFactors | undefined>(),
	/** Forgets codes that expired before the instant. */
	drop: write<(expired_before: string) => number>({ forgets: [] }),
};

/** The store's part for reset codes. */
export type ResetStore = Port<typeof resetOperations>;
