import type { Briefs } from "../store.ts";
import { attemptsInMemory } from "./attempts.ts";
import { challengesInMemory } from "./challenges.ts";
import { jwtSourcesInMemory } from "./jwt-sources.ts";
import { sessionUsesInMemory } from "./session-uses.ts";
import { codesInMemory } from "./sso-codes.ts";

/** Keeps short-lived facts in memory, for a server that has the store for itself: they end with it. */
export const briefsInMemory = (): Briefs => ({
	accounts: sessionUsesInMemory(),
	attempts: attemptsInMemory(),
	factors: challengesInMemory(),
	sso: codesInMemory(),
	trusts: jwtSourcesInMemory(),
});
