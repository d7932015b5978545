import { createPasswordQueue, type PasswordQueue } from "../accounts/password-queue.ts";
import type { Throttle } from "../accounts/throttle.ts";
import type { Visitor } from "../audit/model.ts";
import { createCache } from "../cache.ts";
import { AppError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { type Asserted, SsoRefusal } from "./model.ts";
import type { Protocols } from "./protocols.ts";
import type { Provider } from "./providers.ts";
import { guarded, type RefusalNeeds } from "./refusals.ts";

/** Concurrent logins at one directory, and how many milliseconds others wait for their turn. */
const AT_ONCE = 3;
const MAX_TURN_MS = 1000;

/** Directories whose queues are kept. */
const MAX_DIRECTORIES = 256;

/** Dependencies of a password check at a directory. */
export interface DirectoryNeeds extends RefusalNeeds {
	throttle: Throttle;
	protocols: Protocols;
	/** The queue of password logins at a provider. */
	directory(provider: string): Pick<PasswordQueue, "run">;
}

/** Name of the limit on the wait for a directory's turn. */
const LIMIT = "directory_login_wait_ms";

/** Makes the queues, one per directory: a directory that does not answer delays only its own logins. */
export function createDirectories({ add }: Pick<Limits, "add">): DirectoryNeeds["directory"] {
	const queues = createCache<string, PasswordQueue>(MAX_DIRECTORIES);
	const waiting = new Set<{ since: number }>();
	let refused = 0;
	const longest = () => Math.max(0, ...[...waiting].map(({ since }) => performance.now() - since));
	add({
		name: LIMIT,
		max: MAX_TURN_MS,
		used: () => Math.min(MAX_TURN_MS, Math.round(longest())),
		refused: () => refused,
		hint: "a directory is slow to answer: its logins wait for each other",
	});
	const queueOf = (provider: string) => {
		const queue = queues.get(provider) ?? createPasswordQueue({ all: AT_ONCE });
		queues.set(provider, queue);
		return queue;
	};
	return (provider) => ({
		async run(asker, check) {
			const login = { since: performance.now() };
			waiting.add(login);
			const begin = async () => {
				waiting.delete(login);
				if (performance.now() - login.since <= MAX_TURN_MS) return check();
				refused++;
				throw busy();
			};
			return queueOf(provider)
				.run(asker, begin)
				.finally(() => void waiting.delete(login));
		},
	});
}

/**
 * Asks a directory whose password it is. Guesses are slowed down as those of our own passwords are.
 * @returns the person, and the name under which guesses are counted
 * @throws AppError rate_limited, overloaded, and whatever `guarded` makes of a refusal
 */
export async function askDirectory(
	needs: DirectoryNeeds,
	visitor: Visitor,
	provider: Provider<"ldap">,
	{ username, password }: { username: string; password: string },
): Promise<{ account: string; asserted: Asserted }> {
	const ldap = await needs.protocols.ldap();
	const account = `${provider.name} ${ldap.accountOf(provider.is.settings, username)}`;
	const asserted = await needs.throttle.attempt(needs.directory(provider.name), account, visitor.ip, async (failed) => {
		return guarded(needs, visitor, provider, async () => {
			try {
				const found = await ldap.identify(provider.is.settings, username, password);
				return { ...found, authenticated_ms: needs.system.now().getTime() };
			} catch (error) {
				if (error instanceof SsoRefusal) await failed();
				throw error;
			}
		});
	});
	return { account, asserted };
}

/** A login that queued behind a directory that does not answer need not wait for it as well. */
function busy(): AppError {
	const message = `too many logins are waiting for this directory (${LIMIT}): try again in 1 second`;
	return new AppError("rate_limited", message, { headers: { "retry-after": "1" } });
}
