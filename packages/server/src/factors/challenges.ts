import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { deriveKeys, type KeySource, wasInUse } from "../crypto/session-keys.ts";
import { AppError } from "../errors.ts";
import type { Limit } from "../limits.ts";
import type { System } from "../system.ts";
import {
	type ChallengeOutcome,
	type FactorStore,
	MAX_CHALLENGES_OF_ACCOUNT,
	MAX_CHALLENGES_WHEN_SCARCE,
	MAX_USED_CHALLENGES,
} from "./model.ts";

/** Milliseconds for which a passkey may sign a challenge. Design: §16 */
const VALID_MS = 5 * 60_000;

const NONCE_BYTES = 16;
/** Bytes of the instant at which a challenge ends, in Unix milliseconds. */
const UNTIL_BYTES = 6;
const FACTS_BYTES = NONCE_BYTES + UNTIL_BYTES;

/** A challenge as it is written: its 54 bytes have no other spelling. */
const CHALLENGE = /^[\w-]{72}$/;

/** Names of the limits on used challenges: of one account, and of all. */
const [OF_ACCOUNT, OF_ALL] = ["passkey_uses_per_account", "passkey_uses"];

/** Maximum number of uses of an account that is refused for its own. */
const MOST_OF_ACCOUNT = { account_full: MAX_CHALLENGES_OF_ACCOUNT, account_scarce: MAX_CHALLENGES_WHEN_SCARCE };

/** Seconds to wait after too many uses of passkeys. */
const RETRY_S = 60;

/** Check of the challenge in one answer, on its way through the verification of what a passkey signed. */
export interface ChallengeCheck {
	/** Tells whether a server of this database made the challenge for this browser, not long ago. */
	isChallenge(challenge: string): boolean;
	/** Uses up the challenge that was accepted, for an account. False when it was used before. @throws AppError rate_limited, overloaded */
	useUp(user_id: string): Promise<boolean>;
}

/** Challenges for passkeys: each is good once, for 5 minutes, in the browser or session that it was made for. */
export interface Challenges {
	make(holder: string): string;
	/** Begins the check of an answer. @param holder the browser or session that brings it */
	checkFor(holder: string): ChallengeCheck;
	/** The limits on used challenges, for display. */
	limits: readonly Limit[];
}

/** Dependencies of challenges. */
interface ChallengeNeeds extends KeySource {
	store: { factors: Pick<FactorStore, "useChallenge" | "countChallenges"> };
	system: Pick<System, "now" | "randomBytes">;
}

/**
 * Makes the challenges. They carry their own end and holder under a key that is derived from those of sessions, so anybody may ask for any number of them,
 * and each server of the database knows those of the others. Only used ones are remembered.
 */
export function createChallenges({ store, system: { now, randomBytes }, ...source }: ChallengeNeeds): Challenges {
	const keys = deriveKeys(source, "passkey challenge", (bytes) => bytes);
	const refused = { of_account: 0, of_all: 0 };
	const sign = (key: Buffer, facts: Buffer, holder: string) =>
		createHmac("sha256", key).update(facts).update(holder).digest();

	function endOf(challenge: string): number {
		return Buffer.from(challenge, "base64url").readUIntBE(NONCE_BYTES, UNTIL_BYTES);
	}

	function isFor(challenge: string, holder: string): boolean {
		if (!CHALLENGE.test(challenge)) return false;
		const bytes = Buffer.from(challenge, "base64url");
		const facts = bytes.subarray(0, FACTS_BYTES);
		const until_ms = endOf(challenge);
		const given = bytes.subarray(FACTS_BYTES);
		const usable = keys.all().filter(({ from }) => wasInUse(from, until_ms - VALID_MS));
		return usable.some(({ key }) => timingSafeEqual(given, sign(key, facts, holder))) && until_ms > now().getTime();
	}

	async function useUp(challenge: string, user_id: string): Promise<boolean> {
		const digest = hash("sha256", `challenge ${challenge}`, "buffer");
		const used = { digest, user_id, until_ms: endOf(challenge) };
		const outcome = await store.factors.useChallenge(used, now().getTime());
		if (outcome === "full") refused.of_all += 1;
		else if (outcome !== "done" && outcome !== "used") refused.of_account += 1;
		return isDone(outcome);
	}

	return {
		make(holder) {
			const until = Buffer.alloc(UNTIL_BYTES);
			until.writeUIntBE(now().getTime() + VALID_MS, 0, UNTIL_BYTES);
			const facts = Buffer.concat([randomBytes(NONCE_BYTES), until]);
			return Buffer.concat([facts, sign(keys.active(), facts, holder)]).toString("base64url");
		},
		checkFor(holder) {
			let accepted: string | undefined;
			return {
				isChallenge(challenge) {
					if (!isFor(challenge, holder)) return false;
					accepted = challenge;
					return true;
				},
				useUp: async (user_id) => accepted !== undefined && useUp(accepted, user_id),
			};
		},
		limits: limitsOf(async () => store.factors.countChallenges(now().getTime()), refused),
	};
}

/** Tells whether a challenge was used up now, and not before. @throws AppError rate_limited, overloaded */
function isDone(outcome: ChallengeOutcome): boolean {
	if (outcome === "done" || outcome === "used") return outcome === "done";
	if (outcome === "full") throw refuse("overloaded", `too many passkeys are used at once (${OF_ALL})`);
	const most = MOST_OF_ACCOUNT[outcome];
	throw refuse("rate_limited", `this account used a passkey ${most} times within 5 minutes (${OF_ACCOUNT})`);
}

function limitsOf(
	count: () => Promise<{ all: number; of_account: number }>,
	refused: { of_account: number; of_all: number },
): Limit[] {
	return [
		{
			name: OF_ACCOUNT,
			max: MAX_CHALLENGES_OF_ACCOUNT,
			used: async () => (await count()).of_account,
			refused: () => refused.of_account,
			hint: "one account signs in with a passkey again and again: auth.login in the audit log names it",
		},
		{
			name: OF_ALL,
			max: MAX_USED_CHALLENGES,
			used: async () => (await count()).all,
			refused: () => refused.of_all,
			hint: "many accounts sign in with passkeys at once: auth.login in the audit log names them and their addresses",
		},
	];
}

function refuse(code: "rate_limited" | "overloaded", why: string): AppError {
	return new AppError(code, `${why}: try again in a minute`, { headers: { "retry-after": String(RETRY_S) } });
}
