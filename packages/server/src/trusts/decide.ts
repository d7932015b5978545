import { MAX_TRUSTS, MAX_USED } from "./model.ts";

/** Facts known when a trust is to be made or replaced. */
export interface TrustFacts {
	/** True if the machine is there, in a live realm. */
	isMachineLive: boolean;
	/** True if the machine has a trust of that name. */
	isThere: boolean;
	/** Trusts of the machine. */
	count: number;
}

/** Decides whether a trust is made or replaced. Design: §13 */
export function decideTrust({ isMachineLive, isThere, count }: TrustFacts): "done" | "gone" | "limit_reached" {
	if (!isMachineLive) return "gone";
	return !isThere && count >= MAX_TRUSTS ? "limit_reached" : "done";
}

/** Facts known when a JWT is exchanged for a token. */
export interface ExchangeFacts {
	/** True if the trust is as it was when the JWT was verified. */
	isTrustThere: boolean;
	/** True if the JWT was used before. */
	isUsed: boolean;
	/** Used JWTs that count for the realm. */
	used: number;
}

/** Decides whether a JWT is accepted. A realm whose record of used ones is full accepts none: it could not notice the next replay. Design: §15 */
export function decideExchange({
	isTrustThere,
	isUsed,
	used,
}: ExchangeFacts): "done" | "gone" | "replay" | "limit_reached" {
	if (!isTrustThere) return "gone";
	if (isUsed) return "replay";
	return used >= MAX_USED ? "limit_reached" : "done";
}
