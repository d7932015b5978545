import { hash } from "node:crypto";
import RateLimiterMemory from "rate-limiter-flexible/lib/RateLimiterMemory.js";
import { createPasswordGate } from "../crypto/gate.ts";
import { AppError } from "../errors.ts";
import type { Gate } from "../gate.ts";

/** Failed logins that cost nothing but themselves, and the window in which they count, in seconds. Design: §6, §7.2. */
const FREE_FAILURES = { perAccountAndSource: 5, perSource: 50, perAccount: 100 } as const;
const WINDOW_S = 15 * 60;

/** Longest wait for one source after failures on one account. It doubles from one second. */
const MAX_WAIT_S = 15 * 60;

/** Wait of everybody after very many failures on one account from everywhere: long enough to slow a guesser, too short to lock anybody out. */
const ACCOUNT_WAIT_S = 5;

const REGISTRATIONS_PER_MINUTE = 300;

/** Refused logins of one source that are written down. What begins nowhere costs its sender nothing, and us an event. */
const REFUSALS_PER_MINUTE = 600;

/** Slows down guessing without locking anybody out: only failures count, and what is refused is a source, hardly ever an account. */
export interface Throttle {
	/** Runs attempts on one account from one source one after the other: what the first ones cost is known before the next begins. */
	inTurn<T>(email: string, ip: string, attempt: () => Promise<T>): Promise<T>;
	/** @throws AppError rate_limited, with the seconds to wait in Retry-After, before any work is done */
	checkLogin(email: string, ip: string): Promise<void>;
	loginFailed(email: string, ip: string): Promise<void>;
	/** @throws AppError rate_limited */
	registration(ip: string): Promise<void>;
	/** Whether a source has had too many logins of a browser or program refused. @throws AppError rate_limited */
	checkRefusals(ip: string): Promise<void>;
	refused(ip: string): Promise<void>;
}

/** Makes the throttle; it counts in memory, so a restart forgives. */
export function createThrottle(): Throttle {
	const pairs = new RateLimiterMemory({ points: FREE_FAILURES.perAccountAndSource, duration: WINDOW_S });
	const sources = new RateLimiterMemory({ points: FREE_FAILURES.perSource, duration: WINDOW_S });
	const accounts = new RateLimiterMemory({ points: FREE_FAILURES.perAccount, duration: WINDOW_S });
	const registrations = new RateLimiterMemory({ points: REGISTRATIONS_PER_MINUTE, duration: 60 });
	const refusals = new RateLimiterMemory({ points: REFUSALS_PER_MINUTE, duration: 60 });
	const blocks = new RateLimiterMemory({ points: 1, duration: MAX_WAIT_S });

	/** Blocks a name when its failures are over the limit. */
	async function fail(limiter: RateLimiterMemory, name: string, wait: (excess: number) => number): Promise<void> {
		const { consumedPoints } = await limiter.penalty(name);
		const excess = consumedPoints - limiter.points;
		if (excess >= 0) await blocks.block(name, Math.min(wait(excess), MAX_WAIT_S));
	}

	return {
		inTurn: createTurns(),
		async checkLogin(email, ip) {
			for (const name of Object.values(namesOf(email, ip))) {
				const block = await blocks.get(name);
				if (block !== null && block.msBeforeNext > 0) throw tooMany("failed logins", block.msBeforeNext);
			}
		},
		async loginFailed(email, ip) {
			const { pair, source, account } = namesOf(email, ip);
			await fail(pairs, pair, (excess) => 2 ** excess);
			await fail(sources, source, (excess) => 2 ** Math.floor(excess / 10));
			await fail(accounts, account, () => ACCOUNT_WAIT_S);
		},
		async checkRefusals(ip) {
			const known = await refusals.get(ip);
			if (known !== null && known.remainingPoints <= 0) throw tooMany("refused logins", known.msBeforeNext);
		},
		async refused(ip) {
			await refusals.penalty(ip);
		},
		async registration(ip) {
			await registrations.consume(ip).catch(({ msBeforeNext }) => {
				throw tooMany("registrations", msBeforeNext);
			});
		},
	};
}

/** Attempts that wait behind one of the same account and source. */
const MAX_WAITING = 64;

function createTurns(): Throttle["inTurn"] {
	const turns = new Map<string, { gate: Gate; users: number }>();
	return async (email, ip, attempt) => {
		const { pair } = namesOf(email, ip);
		const turn = turns.get(pair) ?? { gate: createPasswordGate(1, MAX_WAITING), users: 0 };
		turns.set(pair, turn);
		turn.users++;
		try {
			return await turn.gate(attempt);
		} finally {
			if (--turn.users === 0) turns.delete(pair);
		}
	};
}

/** What is counted. The e-mail is a digest there: it is as long as the caller likes. */
function namesOf(email: string, ip: string): { pair: string; source: string; account: string } {
	const account = `account ${hash("sha256", email, "base64")}`;
	return { pair: `${ip} ${account}`, source: `source ${ip}`, account };
}

function tooMany(what: string, msBeforeNext: number): AppError {
	const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
	const message = `too many ${what} from here: try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}`;
	return new AppError("rate_limited", message, { headers: { "retry-after": String(seconds) } });
}
