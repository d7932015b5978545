import { Agent } from "node:https";
import { createSecureContext } from "node:tls";
import * as client from "openid-client";
import { PUBLIC_KEY_ALGORITHMS } from "../../crypto/public-key-algorithms.ts";
import type { OidcSettings } from "../settings.ts";
import { exchange, KEYS, TIMEOUT_S, TOKEN, USERINFO } from "./exchange.ts";
import { createKeys } from "./keys.ts";
import { type Metadata, readMetadata, unusable } from "./metadata.ts";

/** Seconds by which a provider's clock may differ from ours. */
const CLOCK_TOLERANCE_S = 30;

/** A provider with known addresses. */
export interface Provider {
	/** For requests to it, and for verifying its answers and their signatures. */
	config: client.Configuration;
	/** True if userinfo can supply claims that the id_token lacks. */
	has_userinfo: boolean;
	/** Fetches its keys. @throws ProviderUnavailable */
	testKeys(): Promise<void>;
}

/** Asks a provider for its addresses, and prepares for its logins. @throws ProviderUnavailable */
export async function discover(settings: OidcSettings): Promise<Provider> {
	// Every request has its own connection: logins are rare, and a kept one may be gone when the code is sent. The context is
	// made once: reading all authorities again for each connection would take milliseconds.
	const agent = new Agent({ keepAlive: false, secureContext: createSecureContext({ ca: settings.ca_cert }) });
	const metadata = await readMetadata(settings, agent);
	const config = configure(settings, metadata);
	const keys = createKeys((options: client.CustomFetchOptions) => exchange(agent, KEYS, metadata.jwks_uri, options));
	const keys_address = new URL(metadata.jwks_uri).href;
	config[client.customFetch] = (address, options) => {
		if (address === keys_address) return keys(options);
		return exchange(agent, options.method === "POST" ? TOKEN : USERINFO, address, options);
	};
	return {
		config,
		has_userinfo: metadata.userinfo_endpoint !== undefined,
		async testKeys() {
			const signal = AbortSignal.timeout(TIMEOUT_S * 1000);
			await keys({ method: "GET", headers: {}, body: undefined, redirect: "manual", signal });
		},
	};
}

/** Prepares the library for a provider. @throws ProviderUnavailable when its id_tokens cannot be verified safely */
export function configure({ client_id, client_secret }: OidcSettings, metadata: Metadata): client.Configuration {
	const { id_token_signing_alg_values_supported: announced = PUBLIC_KEY_ALGORITHMS, ...server } = metadata;
	const algorithms = PUBLIC_KEY_ALGORITHMS.filter((name) => announced.includes(name));
	if (algorithms.length === 0) throw unusable("names no safe algorithm for id_tokens");
	const methods = server.token_endpoint_auth_methods_supported ?? [];
	const isPost = methods.includes("client_secret_post") && !methods.includes("client_secret_basic");
	const config = new client.Configuration(
		{ ...server, id_token_signing_alg_values_supported: algorithms, userinfo_signing_alg_values_supported: algorithms },
		client_id,
		{ [client.clockTolerance]: CLOCK_TOLERANCE_S },
		isPost ? client.ClientSecretPost(client_secret) : client.ClientSecretBasic(client_secret),
	);
	config.timeout = TIMEOUT_S;
	// Without it the library trusts an id_token for the TLS connection that it came over, whatever its signature.
	client.enableNonRepudiationChecks(config);
	return config;
}
