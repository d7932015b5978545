import { LRUCache } from "lru-cache";
import type { RealmAccess } from "../../realms/model.ts";
import type { Store } from "../store.ts";

/** Tokens, sessions and memberships that are remembered at once, each. */
const MAX_REMEMBERED = 16_384;

/**
 * Operations that take nothing away from anybody who is remembered. Every other one that a batch has run, known here or not, makes the
 * memory forget everything.
 */
const HARMLESS = new Set([
	"accounts.register",
	"accounts.openSession",
	"accounts.dropSessions",
	"audit.addCheckpoint",
	"health.probe",
	"secrets.set",
	"secrets.remove",
	"tokens.create",
	"tokens.used",
]);

type Remembering = Pick<Store, "accounts" | "realms" | "tokens">;

/**
 * Remembers the three answers that every request asks for: whose token, whose session, which role. Only this process writes the
 * database, and the writer tells what it ran before it tells whoever asked for it, so an answered revocation holds for the next request.
 * What does not exist is not remembered.
 */
export function createMemory(): {
	over<Nouns extends Remembering>(nouns: Nouns): Nouns;
	forget(operations: readonly string[]): void;
} {
	const forgetters: (() => void)[] = [];
	let forgotten = 0;

	function remember<Args extends unknown[], Answer extends object>(
		nameOf: (...args: Args) => string,
		ask: (...args: Args) => Promise<Answer | undefined>,
	): (...args: Args) => Promise<Answer | undefined> {
		const known = new LRUCache<string, Answer>({ max: MAX_REMEMBERED });
		forgetters.push(() => known.clear());
		return async (...args) => {
			const name = nameOf(...args);
			const found = known.get(name);
			if (found !== undefined) return found;
			const before = forgotten;
			const answer = await ask(...args);
			if (answer !== undefined && before === forgotten) known.set(name, Object.freeze(answer));
			return answer;
		};
	}

	return {
		over: (nouns) => ({
			...nouns,
			accounts: {
				...nouns.accounts,
				sessionOwner: remember((jti, user_id) => `${jti} ${user_id}`, nouns.accounts.sessionOwner),
			},
			realms: {
				...nouns.realms,
				access: remember<[string, string], RealmAccess>((slug, user_id) => `${user_id} ${slug}`, nouns.realms.access),
			},
			tokens: { ...nouns.tokens, owner: remember((digest) => digest.toString("latin1"), nouns.tokens.owner) },
		}),
		forget(operations) {
			if (operations.every((operation) => HARMLESS.has(operation))) return;
			forgotten++;
			for (const forget of forgetters) forget();
		},
	};
}
