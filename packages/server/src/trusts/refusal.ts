/** Why a JWT was refused, as the log, the audit log and the trust's owner see it. Callers never learn it. Design: §15 */
export type JwtReason =
	/** It is too long, or not three parts of strict base64url and JSON. */
	| "malformed"
	/** `alg`, or a header field that changes what is signed or for whom. */
	| "header"
	/** No trust of the machine has its issuer. */
	| "issuer"
	/** The issuer has no such key, or more than one. */
	| "key"
	/** The issuer's keys could not be fetched. */
	| "keys_unavailable"
	/** The issuer names an address of its keys at another host than when the trust was made. */
	| "keys_moved"
	| "signature"
	/** A time that is missing or no instant, or a life over 25 hours. */
	| "times"
	| "expired"
	| "not_yet_valid"
	| "audience"
	/** A claim differs, or has another type; `place` says which. */
	| "claim"
	/** It was used before. */
	| "replay"
	/** Too many used JWTs are remembered for the realm, or the machine has too many tokens. */
	| "limit"
	/** The realm has no such machine, or it is not to be used. */
	| "machine";

/** A JWT that proves nothing. It holds the reason and the place, and nothing that was received. */
export class JwtRefusal extends Error {
	override readonly name = "JwtRefusal";
	readonly reason: JwtReason;
	/** Claim that differs, as the trust names it. */
	readonly place: string | undefined;

	constructor(reason: JwtReason, place?: string) {
		super(reason);
		this.reason = reason;
		this.place = place;
	}
}
