import { hash } from "node:crypto";
import { AppError } from "../errors.ts";
import { sourceGroup } from "../source.ts";
import type { KnownSources } from "./known-sources.ts";
import type { Asker, PasswordQueue } from "./password-queue.ts";
import { Tally } from "./tally.ts";

/** Failed logins without a wait, and the window in which they count, in seconds. Design: §6, §7.2. */
const FREE_FAILURES = { perAccountAndSource: 5, perSource: 50, perAccount: 100 } as const;
const WINDOW_S = 15 * 60;

/** Longest wait for one source after failures on one account. It doubles from one second. */
const MAX_WAIT_S = 15 * 60;

/** Wait of all strangers after very many failures on one account from anywhere: long enough to slow a guesser, too short to lock anybody out. */
const ACCOUNT_WAIT_S = 5;

const REGISTRATIONS_PER_MINUTE = 300;

/** Refused logins of one source that are logged. A login that was never begun costs its sender nothing, but us an event. */
const REFUSALS_PER_MINUTE = 600;

/** Names counted at the same time, 150 bytes each: more than can fail in a window. */
const MOST_NAMES = 131_072;

/**
 * Slows down guessing without locking anybody out: only failures count, and it refuses sources, hardly ever an account. An account known at a
 * source has its own count there, which nobody else's failures touch.
 */
export interface Throttle {
	/**
	 * Runs an attempt on an account's password when its turn in the queue comes; attempts on one account from one source run one after the other.
	 * @param account the name under which it is counted: an e-mail, or a directory's user name
	 * @param attempt calls `failed` on a wrong guess
	 * @throws AppError rate_limited, overloaded, with the seconds to wait in Retry-After, before any work is done
	 */
	attempt<T>(
		queue: Pick<PasswordQueue, "run">,
		account: string,
		ip: string,
		attempt: (failed: () => void) => Promise<T>,
	): Promise<T>;
	/** @throws AppError rate_limited */
	registration(ip: string): void;
	/** Refuses a source that has had too many logins of a browser or program refused. @throws AppError rate_limited */
	checkRefusals(ip: string): void;
	refused(ip: string): void;
}

/** Makes the throttle; it counts in memory, so a restart forgives. @param now monotonic milliseconds */
export function createThrottle(
	known: Pick<KnownSources, "knows">,
	now: () => number = () => performance.now(),
): Throttle {
	const tally = (window_s: number) => new Tally({ window_ms: window_s * 1000, most: MOST_NAMES }, now);
	// The known are counted separately, whatever strangers do.
	const [strangers, owners] = [createFailures(tally(WINDOW_S)), createFailures(tally(WINDOW_S))];
	const perMinute = { registrations: tally(60), "refused logins": tally(60) };

	function refuse(what: keyof typeof perMinute, source: string, most: number): void {
		const { count, left_ms } = perMinute[what].get(source);
		if (count >= most) throw tooMany(what, left_ms);
	}

	return {
		async attempt(queue, account, ip, attempt) {
			const asker = await askerOf(known, account, ip);
			const { check, fail } = asker.known === undefined ? strangers : owners;
			check(asker);
			return queue.run(asker, () => {
				check(asker);
				return attempt(() => fail(asker));
			});
		},
		checkRefusals: (ip) => refuse("refused logins", sourceGroup(ip), REFUSALS_PER_MINUTE),
		refused: (ip) => void perMinute["refused logins"].add(sourceGroup(ip)),
		registration(ip) {
			const source = sourceGroup(ip);
			refuse("registrations", source, REGISTRATIONS_PER_MINUTE);
			perMinute.registrations.add(source);
		},
	};
}

interface Guesser extends Asker {
	pair: string;
	account: string;
}

/** Names the account by a digest, since callers choose its length. */
async function askerOf(known: Pick<KnownSources, "knows">, account: string, ip: string): Promise<Guesser> {
	const source = sourceGroup(ip);
	const digest = hash("sha256", account, "base64url").slice(0, 22);
	const asker = { source, account: digest, pair: `${source} ${digest}` };
	return (await known.knows(account, source)) ? { ...asker, known: digest } : asker;
}

/** Counts failures, and makes names with too many wait. */
function createFailures(tally: Tally): { check(who: Guesser): void; fail(who: Guesser): void } {
	const count = (name: string, free: number, wait_s: (excess: number) => number) => {
		const excess = tally.add(name) - free;
		if (excess >= 0) tally.block(name, Math.min(wait_s(excess), MAX_WAIT_S) * 1000);
	};
	/** Returns only the pair of the known: others' failures do not make them wait. */
	const namesOf = ({ pair, source, account, known }: Guesser) =>
		known === undefined ? [pair, source, account] : [pair];
	return {
		check(who) {
			for (const name of namesOf(who)) {
				const wait_ms = tally.waitOf(name);
				if (wait_ms > 0) throw tooMany("failed logins", wait_ms);
			}
		},
		fail(who) {
			const [pair = "", source, account] = namesOf(who);
			count(pair, FREE_FAILURES.perAccountAndSource, (excess) => 2 ** excess);
			if (source !== undefined) count(source, FREE_FAILURES.perSource, (excess) => 2 ** Math.floor(excess / 10));
			if (account !== undefined) count(account, FREE_FAILURES.perAccount, () => ACCOUNT_WAIT_S);
		},
	};
}

function tooMany(what: string, left_ms: number): AppError {
	const seconds = Math.max(1, Math.ceil(left_ms / 1000));
	const message = `too many ${what} from here: try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}`;
	return new AppError("rate_limited", message, { headers: { "retry-after": String(seconds) } });
}
