import { LRUCache } from "lru-cache";
import {
	authorizationCodeGrant,
	buildAuthorizationUrl,
	calculatePKCECodeChallenge,
	fetchUserInfo,
} from "openid-client";
import type { Limit } from "../../limits.ts";
import { createSemaphore } from "../../semaphore.ts";
import { keysOfSource } from "../../source.ts";
import { type Asserted, ProviderUnavailable, SsoRefusal, tooManyLogins } from "../model.ts";
import type { OidcSettings } from "../settings.ts";
import { checkIdToken, isIncomplete, readClaims } from "./claims.ts";
import { translateError } from "./errors.ts";
import { discover, type Provider } from "./provider.ts";

/** The values of one login: random, known to this browser alone, and good for one callback. */
export interface OidcFlow {
	/** The address to which the provider sends the browser back. */
	redirect_uri: string;
	state: string;
	nonce: string;
	/** 43 to 128 characters. Spec: RFC 7636 §4.1 */
	verifier: string;
	/** Whether the person must sign in again, even if the provider still knows them. */
	reauthenticate?: boolean;
}

/** Logins at OpenID Connect providers with the authorization code flow. Design: §11 */
export interface Oidc {
	/**
	 * The address to which to send a browser for the login.
	 * @param id names the settings: it changes with them
	 * @throws ProviderUnavailable
	 */
	authorizationUrl(id: string, settings: OidcSettings, flow: OidcFlow): Promise<string>;
	/**
	 * Identifies the person from the query that the browser came back with. The code in it is used up.
	 * @param source that the browser asks from, as `sourceGroup` returns it
	 * @throws SsoRefusal, ProviderUnavailable
	 */
	identify(
		id: string,
		settings: OidcSettings,
		flow: OidcFlow,
		query: Record<string, string>,
		source: string,
	): Promise<Asserted>;
	/** Tests whether the provider's addresses and keys are available. @throws ProviderUnavailable */
	test(settings: OidcSettings): Promise<void>;
	/** The limit on waiting logins, for display. */
	limits: readonly Limit[];
}

/** Name of the limit on waiting logins. */
const LIMIT = "oidc_logins_waiting_per_source";
/** Limits on concurrent logins at providers, in all and per source, and on waiting, in number and milliseconds: strangers can begin any number. */
const AT_ONCE = 32;
const OF_SOURCE = { each: 4, waiting: 16, busy: () => tooManyLogins(LIMIT) };
const MAX_TURN_MS = 4000;

/** Providers whose addresses are kept, and for how long. */
const MAX_PROVIDERS = 100;
const REMEMBERED_MS = 60 * 60 * 1000;

/** The parameters of a callback's query that are read. */
const PARAMETERS = ["code", "state", "iss", "error"];

/** Makes the adapter. It has nothing to close. */
export function createOidc(): Oidc {
	const known = new LRUCache<string, Promise<Provider>>({ max: MAX_PROVIDERS, ttl: REMEMBERED_MS });
	const semaphore = createSemaphore(AT_ONCE, OF_SOURCE);

	/** Concurrent logins share one answer. */
	function providerOf(id: string, settings: OidcSettings): Promise<Provider> {
		const existing = known.get(id);
		if (existing !== undefined) return existing;
		const found = discover(settings);
		known.set(id, found);
		found.catch(() => known.delete(id));
		return found;
	}

	return {
		async authorizationUrl(id, settings, { redirect_uri, state, nonce, verifier, reauthenticate = false }) {
			const { config } = await providerOf(id, settings);
			// Both, as some providers heed only one of them; max_age also makes them send auth_time.
			const again: Record<string, string> = reauthenticate ? { prompt: "login", max_age: "0" } : {};
			const address = buildAuthorizationUrl(config, {
				redirect_uri: new URL(redirect_uri).href,
				scope: settings.scopes,
				state,
				nonce,
				code_challenge: await calculatePKCECodeChallenge(verifier),
				code_challenge_method: "S256",
				...again,
			});
			return address.href;
		},
		limits: [
			{
				name: LIMIT,
				max: OF_SOURCE.waiting,
				used: semaphore.fullest,
				refused: semaphore.refused,
				hint: "one source ends many logins at a provider: if it is your proxy, add it to trusted_proxies, so that clients are counted separately",
			},
		],
		async identify(id, settings, flow, query, source) {
			if (query.state !== flow.state) throw new SsoRefusal("request");
			const provider = await providerOf(id, settings);
			const ask = async () => {
				try {
					return await identifyAt(provider, settings, flow, callbackUrl(flow, query));
				} catch (error) {
					// The provider may have moved.
					if (error instanceof ProviderUnavailable) known.delete(id);
					throw error;
				}
			};
			return semaphore.run(ask, { keys: keysOfSource(source), limit_ms: MAX_TURN_MS });
		},
		async test(settings) {
			const { testKeys } = await discover(settings);
			await testKeys();
		},
	};
}

function callbackUrl({ redirect_uri }: OidcFlow, query: Record<string, string>): URL {
	const address = new URL(redirect_uri);
	for (const name of PARAMETERS) {
		const value = query[name];
		if (value !== undefined) address.searchParams.set(name, value);
	}
	return address;
}

/** Redeems the code of a callback, and identifies the person from the answers. @throws SsoRefusal, ProviderUnavailable */
export async function identifyAt(
	provider: Provider,
	settings: OidcSettings,
	flow: OidcFlow,
	url: URL,
): Promise<Asserted> {
	const { config, has_userinfo } = provider;
	const checks = { expectedState: flow.state, expectedNonce: flow.nonce, pkceCodeVerifier: flow.verifier };
	const tokens = await judged(authorizationCodeGrant(config, url, { ...checks, idTokenExpected: true }));
	const claims = tokens.claims();
	if (claims === undefined) throw new SsoRefusal("malformed");
	checkIdToken(claims, tokens, settings);
	const isAsked = has_userinfo && isIncomplete(claims, settings);
	const userinfo = isAsked ? await judged(fetchUserInfo(config, tokens.access_token, claims.sub)) : {};
	return readClaims(claims, userinfo, settings);
}

/** @throws SsoRefusal, ProviderUnavailable in place of the library's errors */
async function judged<T>(answer: Promise<T>): Promise<T> {
	try {
		return await answer;
	} catch (error) {
		throw translateError(error);
	}
}
