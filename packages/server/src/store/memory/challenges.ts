import { decideChallenge } from "../../factors/decide.ts";
import type { Briefs } from "../store.ts";

/** Remembers the used challenges of each account until they end. */
export function challengesInMemory(): Pick<Briefs["factors"], "useChallenge" | "countChallenges"> {
	/** The end of each challenge by its digest, by account. */
	const accounts = new Map<string, Map<string, number>>();
	const used = new Set<string>();

	/** Forgets what has ended. @returns the account's challenges */
	function forget(user_id: string, of: Map<string, number>, now_ms: number): Map<string, number> {
		for (const [challenge, until] of of) {
			if (until > now_ms) continue;
			of.delete(challenge);
			used.delete(challenge);
		}
		if (of.size === 0) accounts.delete(user_id);
		return of;
	}
	const forgetAll = (now_ms: number) => accounts.forEach((of, user_id) => void forget(user_id, of, now_ms));

	return {
		useChallenge({ digest, user_id, until_ms }, now_ms) {
			const name = digest.toString("base64url");
			const of = forget(user_id, accounts.get(user_id) ?? new Map<string, number>(), now_ms);
			const decide = () => decideChallenge(used.has(name), of.size, used.size);
			let outcome = decide();
			if (outcome !== "done" && outcome !== "account_full") {
				forgetAll(now_ms);
				outcome = decide();
			}
			if (outcome !== "done") return outcome;
			accounts.set(user_id, of.set(name, until_ms));
			used.add(name);
			return outcome;
		},
		countChallenges(now_ms) {
			forgetAll(now_ms);
			return { all: used.size, of_account: Math.max(0, ...accounts.values().map(({ size }) => size)) };
		},
	};
}
