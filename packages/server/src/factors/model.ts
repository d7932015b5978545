import * as v from "valibot";
import { CurrentPassword, FactorCode, type FactorProof, type KnownSource, type Session } from "../accounts/model.ts";
import type { AuditEvent } from "../audit/model.ts";
import { atMost, errorMessage, RequiredPlainText } from "../messages.ts";
import { brief, type Port, read, scan, write } from "../operation.ts";

/** Those whose sessions need a second factor: nobody, instance admins, or everybody who signs in with a password. Design: §16 */
export type SecondFactor = "off" | "admins" | "all";

/** Confirmed second factors of one account. Each one is a further chance for a guess. */
export const MAX_FACTORS = 10;

/** Recovery codes of one account. Design: §16 */
export const RECOVERY_CODES = 10;

const MAX_NAME_BYTES = 100;

/** Bytes of a recovery code's digest. */
export const DIGEST_BYTES = 32;

/** Milliseconds within which a new factor must be confirmed. */
const PENDING_MS = 15 * 60 * 1000;

/** Returns the earliest time of creation of a factor that can still be confirmed. */
export function pendingCutoff(now: Date): string {
	return new Date(now.getTime() - PENDING_MS).toISOString();
}

/** The proof that a change of the factors asks for: the password, and a code when there is a factor. */
const PROOF = { current_password: v.nullish(CurrentPassword), code: v.nullish(FactorCode) };

/** Design: §16. */
export const AskedAgain = v.object(PROOF);

/** Design: §16. */
export const AddFactor = v.object({
	type: v.picklist(["totp"], errorMessage("validation_failed", "type must be totp")),
	...PROOF,
});

/** A new passkey as its owner names it. Design: §16. */
export const AddPasskey = v.object({ name: v.pipe(RequiredPlainText, atMost(MAX_NAME_BYTES, "name")), ...PROOF });

/** Design: §16. */
export const ConfirmFactor = v.object({ code: FactorCode });

/** A second factor of an account. */
export interface Factor {
	id: string;
	user_id: string;
	type: "totp" | "passkey";
	/** Name that its owner gave a passkey; null for an app. */
	name: string | null;
	/** Host at which a passkey works; null for an app. */
	rp_id: string | null;
	/** A box of the instance's record key: the secret; of a confirmed passkey, its id and public key. */
	sealed: Buffer;
	/** Last step of time whose code was accepted, or the last count of a passkey's signatures; 0 before the first. */
	last_step: number;
	/** ISO 8601 UTC. */
	created_at: string;
	/** Null until its first use: until then no sign-in asks for it. */
	confirmed_at: string | null;
}

/** The unused recovery codes of an account. */
export interface RecoveryCodes {
	user_id: string;
	/** Digests by crypto/codes.ts, one after another. */
	digests: Buffer;
	created_at: string;
}

/** Proof by the maker of a change: the stored password, and a second factor where there is one. */
export interface FactorOwner {
	user_id: string;
	password: string;
	proof: FactorProof | undefined;
}

/** Outcome of a change that uses a proof up. `changed`: the account is not as it was; `used`: the code was used meanwhile. */
export type ProofOutcome = "done" | "changed" | "used";

/** Operations of the store on second factors. */
export const factorOperations = {
	/** Lists the account's factors, including unconfirmed ones, in the order of their creation. */
	ofUser: read<(user_id: string) => Factor[]>(),
	/** Tells whether a session was opened with a password, and its account has no confirmed factor. */
	isLacking: read<(jti: string, user_id: string) => boolean>(),
	recoveryCodes: read<(user_id: string) => RecoveryCodes | undefined>(),
	/** Lists the hosts that any passkey is for. */
	passkeyHosts: scan<() => string[]>(),
	/** Opens a session as `accounts.openSession` does, and uses the proof up. `cloned`: the count shows a copy of the passkey, which has ended. */
	signIn: write<
		(
			input: { session: Session; password: string; known?: KnownSource; proof: FactorProof },
			event: AuditEvent,
		) => ProofOutcome | "cloned"
	>({ forgets: ["access"] }),
	/** Adds a factor that is to be confirmed, in place of others that wait for that. */
	add: write<(input: { factor: Factor; owner: FactorOwner }, event: AuditEvent) => ProofOutcome | "limit_reached">({
		forgets: [],
	}),
	/**
	 * Confirms a factor made after `since` with the step of its first code, ends the account's sessions but `keep`, and forgets its sources but `known`. `sealed` takes the place of
	 * the box. An account that has recovery codes keeps them (`kept`), others get these.
	 */
	confirm:
		write<
			(
				input: {
					id: string;
					user_id: string;
					step: number;
					since: string;
					sealed?: Buffer;
					keep: string;
					known?: KnownSource;
					codes: RecoveryCodes;
				},
				event: AuditEvent,
			) => "done" | "kept" | "unknown"
		>(),
	/** Removes a factor, and with the last one also the recovery codes. One that was never confirmed needs no proof. `no_codes`: see `mayRemove`. */
	remove:
		write<(input: { id: string; owner: FactorOwner }, event: AuditEvent) => ProofOutcome | "unknown" | "no_codes">(),
	/** Replaces the recovery codes. */
	renewCodes: write<(input: { owner: FactorOwner; codes: RecoveryCodes }, event: AuditEvent) => ProofOutcome>({
		forgets: [],
	}),
	/** Forgets factors made before the instant that were never confirmed. */
	dropPending: write<(made_before: string) => number>({ forgets: [] }),
	/** Uses up a challenge, if `decideChallenge` lets it. */
	useChallenge: brief<(used: UsedChallenge, now_ms: number) => ChallengeOutcome>(),
	/** Counts the used challenges that have not ended: all, and those of the account that has most. */
	countChallenges: brief<(now_ms: number) => { all: number; of_account: number }>(),
};

/** Used challenges that are remembered. Only a passkey adds one; nobody's is forgotten early. */
export const MAX_USED_CHALLENGES = 10_000;

/** Used challenges that one account may have, and the same while half of all are taken, so that no account fills the memory. */
export const MAX_CHALLENGES_OF_ACCOUNT = 20;
export const MAX_CHALLENGES_WHEN_SCARCE = 2;

/** `account_full` and `account_scarce`: the account has as many as it may, always or while half of all are taken. */
export type ChallengeOutcome = "done" | "used" | "full" | "account_full" | "account_scarce";

/** A challenge that a passkey has signed. */
export interface UsedChallenge {
	/** SHA-256 of it. */
	digest: Buffer;
	user_id: string;
	/** Unix milliseconds at which it ends. */
	until_ms: number;
}

/** The store's part for second factors. */
export type FactorStore = Port<typeof factorOperations>;
