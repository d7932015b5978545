import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "../errors.ts";
import type { Limit } from "../limits.ts";
import type { System } from "../system.ts";

/** Milliseconds for which a passkey may sign a challenge. Design: §16 */
const VALID_MS = 5 * 60_000;

const KEY_BYTES = 32;
const NONCE_BYTES = 16;
/** Bytes of the instant at which a challenge ends, in Unix milliseconds. */
const UNTIL_BYTES = 6;
const FACTS_BYTES = NONCE_BYTES + UNTIL_BYTES;

/** A challenge as it is written: its 54 bytes have no other spelling. */
const CHALLENGE = /^[\w-]{72}$/;

/** Used challenges that are remembered. Only a passkey adds one; nobody's is forgotten early. */
const MAX_USED = 10_000;

/** Used challenges that one account may have, and the same while half of the memory is taken, so that no account fills it. */
const MAX_OF_ACCOUNT = 20;
const MAX_WHEN_SCARCE = 2;

/** Names of the limits on used challenges: of one account, and of all. */
const [OF_ACCOUNT, OF_ALL] = ["passkey_uses_per_account", "passkey_uses"];

/** Seconds to wait after too many uses of passkeys. */
const RETRY_S = 60;

/** Check of the challenge in one answer, on its way through the verification of what a passkey signed. */
export interface ChallengeCheck {
	/** Tells whether this server made the challenge for this browser, not long ago. */
	isChallenge(challenge: string): boolean;
	/** Uses up the challenge that was accepted, for an account. False when it was used before. @throws AppError rate_limited, overloaded */
	useUp(user_id: string): boolean;
}

/** Challenges for passkeys: each is good once, for 5 minutes, in the browser or session that it was made for. */
export interface Challenges {
	make(holder: string): string;
	/** Begins the check of an answer. @param holder the browser or session that brings it */
	checkFor(holder: string): ChallengeCheck;
	/** The limits on used challenges, for display. */
	limits: readonly Limit[];
}

/**
 * Makes the challenges. They carry their own end and holder under a key of this process, so anybody may ask for any number of them; a restart ends all.
 */
export function createChallenges({ now, randomBytes }: Pick<System, "now" | "randomBytes">): Challenges {
	const key = randomBytes(KEY_BYTES);
	const used = createUsed(now);
	const sign = (facts: Buffer, holder: string) => createHmac("sha256", key).update(facts).update(holder).digest();

	function endOf(challenge: string): number {
		return Buffer.from(challenge, "base64url").readUIntBE(NONCE_BYTES, UNTIL_BYTES);
	}

	function isFor(challenge: string, holder: string): boolean {
		if (!CHALLENGE.test(challenge)) return false;
		const bytes = Buffer.from(challenge, "base64url");
		const facts = bytes.subarray(0, FACTS_BYTES);
		const [given, wanted] = [bytes.subarray(FACTS_BYTES), sign(facts, holder)];
		return timingSafeEqual(given, wanted) && endOf(challenge) > now().getTime();
	}

	return {
		make(holder) {
			const until = Buffer.alloc(UNTIL_BYTES);
			until.writeUIntBE(now().getTime() + VALID_MS, 0, UNTIL_BYTES);
			const facts = Buffer.concat([randomBytes(NONCE_BYTES), until]);
			return Buffer.concat([facts, sign(facts, holder)]).toString("base64url");
		},
		checkFor(holder) {
			let accepted: string | undefined;
			return {
				isChallenge(challenge) {
					if (!isFor(challenge, holder)) return false;
					accepted = challenge;
					return true;
				},
				useUp: (user_id) => accepted !== undefined && used.add(user_id, accepted, endOf(accepted)),
			};
		},
		limits: used.limits,
	};
}

/** Remembers the used challenges of each account until they end. */
function createUsed(now: System["now"]) {
	const accounts = new Map<string, Map<string, number>>();
	let total = 0;
	const refused = { of_account: 0, of_all: 0 };

	/** Forgets what has ended. @returns the account's challenges */
	function forget(user_id: string, of: Map<string, number>): Map<string, number> {
		const time = now().getTime();
		const before = of.size;
		for (const [challenge, until] of of) if (until <= time) of.delete(challenge);
		total -= before - of.size;
		if (of.size === 0) accounts.delete(user_id);
		return of;
	}
	const forgetAll = () => accounts.forEach((of, user_id) => void forget(user_id, of));

	function add(user_id: string, challenge: string, until: number): boolean {
		if (total >= MAX_USED / 2) forgetAll();
		const of = forget(user_id, accounts.get(user_id) ?? new Map<string, number>());
		if (of.has(challenge)) return false;
		if (total >= MAX_USED) {
			refused.of_all += 1;
			throw refuse("overloaded", `too many passkeys are used at once (${OF_ALL})`);
		}
		const most = total >= MAX_USED / 2 ? MAX_WHEN_SCARCE : MAX_OF_ACCOUNT;
		if (of.size >= most) {
			refused.of_account += 1;
			throw refuse("rate_limited", `this account used a passkey ${most} times within 5 minutes (${OF_ACCOUNT})`);
		}
		accounts.set(user_id, of.set(challenge, until));
		total += 1;
		return true;
	}

	function fullest(): number {
		forgetAll();
		return Math.max(0, ...accounts.values().map(({ size }) => size));
	}

	function all(): number {
		forgetAll();
		return total;
	}

	return { add, limits: limitsOf({ fullest, all }, refused) };
}

function limitsOf(
	{ fullest, all }: { fullest(): number; all(): number },
	refused: { of_account: number; of_all: number },
): Limit[] {
	return [
		{
			name: OF_ACCOUNT,
			max: MAX_OF_ACCOUNT,
			used: fullest,
			refused: () => refused.of_account,
			hint: "one account signs in with a passkey again and again: auth.login in the audit log names it",
		},
		{
			name: OF_ALL,
			max: MAX_USED,
			used: all,
			refused: () => refused.of_all,
			hint: "many accounts sign in with passkeys at once: auth.login in the audit log names them and their addresses",
		},
	];
}

function refuse(code: "rate_limited" | "overloaded", why: string): AppError {
	return new AppError(code, `${why}: try again in a minute`, { headers: { "retry-after": String(RETRY_S) } });
}
