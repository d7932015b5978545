import type { Limit } from "../../limits.ts";
import { createSemaphore } from "../../semaphore.ts";
import { type Asserted, ProviderUnavailable, SsoRefusal, tooManyLogins } from "../model.ts";
import type { LdapSettings } from "../settings.ts";
import { accountOf } from "./account.ts";
import type { LdapAnswer } from "./ldap-thread.ts";
import type { Credentials } from "./login.ts";
import { createThreads } from "./threads.ts";

/** Milliseconds from a question's arrival to its answer, including the wait for a turn. */
const LIMIT_MS = 4000;
/** Questions at once, to all directories: a healthy one needs some milliseconds for a login. */
const MAX_QUESTIONS = 8;
/** Name of the limit on waiting logins. */
const LIMIT = "ldap_questions_waiting_per_directory";
/** Bounds of one directory: one that hangs takes nothing from the others. */
const OF_DIRECTORY = { each: 3, waiting: 16, busy: () => tooManyLogins(LIMIT) };
/** Bytes of UTF-8. */
const MAX_BYTES = 1024;

/** Logins against directories. Design: §11 */
export interface Ldap {
	/**
	 * Identifies the person whose password the directory accepts. It answers within five seconds.
	 * @throws SsoRefusal unknown, password, subject; ProviderUnavailable
	 */
	identify(settings: LdapSettings, username: string, password: string): Promise<Asserted>;
	/** Tests everything but a person's password. @throws ProviderUnavailable */
	test(settings: LdapSettings): Promise<void>;
	/** The name under which guesses of a person's password are counted: the same for every spelling. */
	accountOf(settings: LdapSettings, username: string): string;
	/** The limit on waiting questions, for display. */
	limits: readonly Limit[];
	/** Ends the questions under way. */
	close(): Promise<void>;
}

/** Makes the adapter; its first question starts a thread. */
export function createLdap(): Ldap {
	const semaphore = createSemaphore(MAX_QUESTIONS, OF_DIRECTORY);
	const threads = createThreads(MAX_QUESTIONS);
	const ask = (settings: LdapSettings, credentials: Credentials | undefined) => {
		const until = performance.now() + LIMIT_MS;
		return semaphore.run(() => threads.ask({ settings, credentials }, Math.max(1, until - performance.now())), {
			keys: [settings.url],
			limit_ms: LIMIT_MS,
		});
	};
	return {
		async identify(settings, username, password) {
			if (!isSane(username)) throw new SsoRefusal("unknown");
			// Directories admit anybody without a password (RFC 4513, 5.1.2): an empty one may not reach them.
			if (!isSane(password)) throw new SsoRefusal("password");
			const asserted = read(await ask(settings, { username, password }));
			if (asserted === undefined) throw new SsoRefusal("unknown");
			return asserted;
		},
		async test(settings) {
			read(await ask(settings, undefined));
		},
		accountOf,
		limits: [
			{
				name: LIMIT,
				max: OF_DIRECTORY.waiting,
				used: semaphore.fullest,
				refused: semaphore.refused,
				hint: "a directory is slow to answer: its logins wait for each other",
			},
		],
		close: threads.close,
	};
}

function isSane(text: string): boolean {
	return text.isWellFormed() && text.trim() !== "" && !text.includes("\0") && Buffer.byteLength(text) <= MAX_BYTES;
}

function read(answer: LdapAnswer): Asserted | undefined {
	if ("refused" in answer) throw new SsoRefusal(answer.refused);
	if ("unavailable" in answer) throw new ProviderUnavailable(answer.unavailable);
	return answer.asserted;
}
