import { createPasswordQueue, type PasswordQueue } from "../accounts/password-queue.ts";
import type { Throttle } from "../accounts/throttle.ts";
import type { Visitor } from "../audit/model.ts";
import { createCache } from "../cache.ts";
import { AppError } from "../errors.ts";
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

/** Makes the queues, one per directory: a directory that does not answer delays only its own logins. */
export function createDirectories(): DirectoryNeeds["directory"] {
	const queues = createCache<string, PasswordQueue>(MAX_DIRECTORIES);
	return (provider) => {
		const queue = queues.get(provider) ?? createPasswordQueue({ all: AT_ONCE });
		queues.set(provider, queue);
		return queue;
	};
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
	const begun = performance.now();
	const asserted = await needs.throttle.attempt(needs.directory(provider.name), account, visitor.ip, async (failed) => {
		if (performance.now() - begun > MAX_TURN_MS) throw busy();
		return guarded(needs, visitor, provider, async () => {
			try {
				return await ldap.identify(provider.is.settings, username, password);
			} catch (error) {
				if (error instanceof SsoRefusal) failed();
				throw error;
			}
		});
	});
	return { account, asserted };
}

/** A login that queued behind a directory that does not answer need not wait for it as well. */
function busy(): AppError {
	const message = "too many logins are waiting for this directory: try again in 1 second";
	return new AppError("rate_limited", message, { headers: { "retry-after": "1" } });
}
