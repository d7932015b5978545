import { MAX_TOKENS } from "./model.ts";

/** Tokens that an account has. */
export interface HeldTokens {
	/** Tokens that have not expired. */
	live: number;
	/** Tokens that have expired and are still kept. */
	expired: number;
}

/** Decides whether an account gets one more token, and how many of its expired ones, the earliest first, are forgotten then. Design: §13 */
export function decideToken({
	live,
	expired,
}: HeldTokens): { outcome: "done"; forgotten: number } | { outcome: "limit_reached" } {
	if (live >= MAX_TOKENS) return { outcome: "limit_reached" };
	return { outcome: "done", forgotten: Math.max(0, expired - MAX_TOKENS) };
}
