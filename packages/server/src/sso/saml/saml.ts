import type { Worker } from "node:worker_threads";
import { LRUCache } from "lru-cache";
import { startThread } from "../../asset.ts";
import type { Limit } from "../../limits.ts";
import { createSemaphore } from "../../semaphore.ts";
import { keysOfSource } from "../../source.ts";
import { NoAnswer, ThreadPool } from "../../threads/thread-pool.ts";
import { type Asserted, ProviderUnavailable, SsoRefusal, tooManyLogins } from "../model.ts";
import type { SamlSettings } from "../settings.ts";
import type { OneLogin } from "./assertion.ts";
import { type ServiceProvider, writeLoginUrl, writeMetadata } from "./messages.ts";
import type { SamlAnswer, SamlFinding, SamlQuestion } from "./saml-thread.ts";

export type { ServiceProvider };

/** Milliseconds for one response; an honest one takes 20. Design: §11 */
const LIMIT_MS = 2000;

/** Responses that may wait for their turn. */
const MAX_WAITING = 64;

/** Names of the limits on waiting responses: of one source, and of all. */
const [LIMIT_OF_SOURCE, LIMIT] = ["saml_responses_waiting_per_source", "saml_responses_waiting"];
/**
 * Of one source, one response is read and sixteen wait, for this many milliseconds: even the slowest of them delay the other sources by one response
 * only. The thread's queue bounds the number of sources.
 */
const OF_SOURCE = { each: 1, waiting: 16, busy: () => tooManyLogins(LIMIT_OF_SOURCE) };
const MAX_TURN_MS = 10_000;

/** Providers whose settings are kept for the minute. */
const MAX_REMEMBERED = 100;
const MINUTE_MS = 60_000;

/** Milliseconds without a login after which the thread ends. */
const IDLE_MS = 60_000;

/** Megabytes of memory for one response, and of young objects before garbage is collected: more is no faster. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

/** Characters of a form's field: a longer one is refused unread. Design: §11 */
const MAX_FIELD = 262_144;

/** The person in a provider's response, and the facts that make the response good for one login. */
export type SamlIdentity = Asserted & OneLogin;

/** The answer that a browser brought back from a provider. */
export interface SamlResponse {
	/** The form's field, base64. */
	response: string;
	/** Open requests of this browser and provider. */
	request_ids: readonly string[];
	/** The address that the response came from. */
	source: string;
	now: Date;
}

/** SAML 2.0 as a service provider: the browser's redirect carries the request, its form the answer. */
export interface Saml {
	/**
	 * The address at the provider where a login begins.
	 * @param id names the settings: it changes with them
	 * @param request_id an XML name
	 * @param reauthenticate whether the person must sign in again, even if the provider still knows them
	 * @throws ProviderUnavailable
	 */
	loginUrl(
		id: string,
		settings: SamlSettings,
		sp: ServiceProvider,
		request_id: string,
		now: Date,
		reauthenticate?: boolean,
	): Promise<string>;
	/** Identifies the person who came back. The caller checks whether the response was used before. @throws SsoRefusal, ProviderUnavailable */
	identify(settings: SamlSettings, sp: ServiceProvider, answer: SamlResponse): Promise<SamlIdentity>;
	/** Our metadata, XML. @param certificate PEM of the key that signs our requests */
	metadata(sp: ServiceProvider, certificate?: string): string;
	/** Tests whether these settings allow logins. @throws ProviderUnavailable */
	test(settings: SamlSettings, now: Date): Promise<void>;
	/** The limits on waiting responses, for display. */
	limits: readonly Limit[];
	/** Ends the thread. */
	close(): Promise<void>;
}

/** Makes the adapter. Its thread starts with the first question. Design: §11 */
export function createSaml(): Saml {
	const thread = createThread();
	const semaphore = createSemaphore(Number.POSITIVE_INFINITY, OF_SOURCE);
	const read = createReader(thread);
	return {
		metadata: writeMetadata,
		limits: [
			{
				name: LIMIT_OF_SOURCE,
				max: OF_SOURCE.waiting,
				used: semaphore.fullest,
				refused: semaphore.refused,
				hint: "one source sends many SAML responses: if it is your proxy, add it to trusted_proxies, so that clients are counted separately",
			},
			thread.limit,
		],
		close: () => thread.close(),
		async loginUrl(id, settings, sp, request_id, now, reauthenticate = false) {
			const { sso_url } = found(await read(id, settings, now).catch(aboutSettings));
			const by_email = settings.email_attribute === undefined;
			const login = { id: request_id, sso_url, reauthenticate, by_email, now };
			return writeLoginUrl(login, sp, settings.request_key?.private_key);
		},
		async test(settings, now) {
			found(await thread.ask(questionOf(settings, now)).catch(aboutSettings));
		},
		async identify(settings, sp, { response, request_ids, source, now }) {
			if (response.length > MAX_FIELD) throw new SsoRefusal("malformed");
			const { email_attribute: email, name_attribute: name, groups_attribute: groups } = settings;
			const examination = { field: response, sp, request_ids, attributes: { email, name, groups } };
			const question = questionOf(settings, now, examination);
			const answer = await semaphore
				.run(() => thread.ask(question), { keys: keysOfSource(source), limit_ms: MAX_TURN_MS })
				.catch(aboutResponse);
			const { identity } = found(answer);
			if (identity === undefined) throw new SsoRefusal("malformed");
			return identity;
		},
	};
}

/** The thread that reads what providers sent, and the limit on what waits for it. */
function createThread() {
	const pool = new ThreadPool<SamlQuestion, SamlAnswer>({
		...{ start, limit_ms: LIMIT_MS, waiting: MAX_WAITING, idle_ms: IDLE_MS },
	});
	let refused = 0;
	const limit: Limit = {
		name: LIMIT,
		max: MAX_WAITING,
		used: () => pool.waiting,
		refused: () => refused,
		hint: "many sources send SAML responses at once: auth.login.failed in the audit log names their addresses",
	};
	return {
		limit,
		/** @throws NoAnswer, ProviderUnavailable */
		ask: (question: SamlQuestion): Promise<SamlAnswer> =>
			pool.ask(question).catch((error) => {
				if (!(error instanceof NoAnswer && error.why === "busy")) throw error;
				refused += 1;
				throw tooManyLogins(LIMIT);
			}),
		close: () => pool.close(),
	};
}

/** Reads settings once per minute of the clock, which also notices when they expire: no login begins behind other people's responses. */
function createReader(thread: Pick<ReturnType<typeof createThread>, "ask">) {
	const known = new LRUCache<string, Promise<SamlAnswer>>({ max: MAX_REMEMBERED });
	return (id: string, settings: SamlSettings, now: Date): Promise<SamlAnswer> => {
		const key = `${id} ${Math.floor(now.getTime() / MINUTE_MS)}`;
		const existing = known.get(key);
		if (existing !== undefined) return existing;
		const asked = thread.ask(questionOf(settings, now));
		known.set(key, asked);
		asked.catch(() => known.delete(key));
		return asked;
	};
}

function questionOf(settings: SamlSettings, now: Date, examination?: SamlQuestion["examination"]): SamlQuestion {
	const { idp_metadata, idp_entity_id, idp_sso_url, idp_certificate } = settings;
	const described = { idp_metadata, idp_entity_id, idp_sso_url, idp_certificate };
	return { settings: described, now_ms: now.getTime(), examination };
}

function start(): Worker {
	return startThread(new URL("./saml-thread.ts", import.meta.url), { resourceLimits: MEMORY });
}

function found(answer: SamlAnswer): SamlFinding {
	if ("finding" in answer) return answer.finding;
	if ("refused" in answer) throw new SsoRefusal(answer.refused);
	throw new ProviderUnavailable(answer.unavailable);
}

/** Judges a failure: only a response made for it takes all the time or memory available. */
function aboutResponse(error: unknown): never {
	if (!(error instanceof NoAnswer)) throw error;
	if (error.why === "overdue" || error.why === "broken") throw new SsoRefusal("malformed", { cause: error });
	throw unread(error);
}

function aboutSettings(error: unknown): never {
	if (error instanceof NoAnswer && error.why === "overdue") {
		throw new ProviderUnavailable("the provider's metadata takes too long to read", { cause: error });
	}
	throw error instanceof NoAnswer ? unread(error) : error;
}

function unread(cause: NoAnswer): ProviderUnavailable {
	return new ProviderUnavailable("the login could not be checked: try again in a moment", { cause });
}
