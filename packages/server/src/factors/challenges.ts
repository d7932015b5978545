import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "../errors.ts";
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

/** Check of the challenge in one answer, on its way through the verification of what a passkey signed. */
export interface ChallengeCheck {
	/** Tells whether this server made the challenge for this browser, not long ago. */
	isChallenge(challenge: string): boolean;
	/** Uses up the challenge that was accepted. False when it was used before. @throws AppError overloaded */
	useUp(): boolean;
}

/** Challenges for passkeys: each is good once, for 5 minutes, in the browser or session that it was made for. */
export interface Challenges {
	make(holder: string): string;
	/** Begins the check of an answer. @param holder the browser or session that brings it */
	checkFor(holder: string): ChallengeCheck;
}

/**
 * Makes the challenges. They carry their own end and holder under a key of this process, so anybody may ask for any number of them; a restart ends all.
 */
export function createChallenges({ now, randomBytes }: Pick<System, "now" | "randomBytes">): Challenges {
	const key = randomBytes(KEY_BYTES);
	const used = new Map<string, number>();
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

	function useUp(challenge: string): boolean {
		const time = now().getTime();
		if (used.size >= MAX_USED) for (const [one, until] of used) if (until <= time) used.delete(one);
		if (used.size >= MAX_USED)
			throw new AppError("overloaded", "too many passkeys are used at once: try again in a minute", {
				headers: { "retry-after": "60" },
			});
		if (used.has(challenge)) return false;
		used.set(challenge, endOf(challenge));
		return true;
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
				useUp: () => accepted !== undefined && useUp(accepted),
			};
		},
	};
}
