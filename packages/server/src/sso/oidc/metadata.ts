import type { Agent } from "node:https";
import { customFetch, discovery, None } from "openid-client";
import * as v from "valibot";
import { ProviderUnavailable } from "../model.ts";
import type { OidcSettings } from "../settings.ts";
import { DISCOVERY, exchange, TIMEOUT_S } from "./exchange.ts";

const Address = v.pipe(
	v.string(),
	v.check((text) => URL.canParse(text) && new URL(text).protocol === "https:"),
);

/** The fields in use of a discovery document: all others have no effect. */
const Metadata = v.object({
	issuer: v.string(),
	authorization_endpoint: Address,
	token_endpoint: Address,
	jwks_uri: Address,
	userinfo_endpoint: v.exactOptional(Address),
	authorization_response_iss_parameter_supported: v.exactOptional(v.boolean()),
	id_token_signing_alg_values_supported: v.exactOptional(v.array(v.string())),
	token_endpoint_auth_methods_supported: v.exactOptional(v.array(v.string())),
});

export type Metadata = v.InferOutput<typeof Metadata>;

/** Asks a provider for its addresses. @throws ProviderUnavailable */
export async function readMetadata({ issuer, client_id }: OidcSettings, agent: Agent): Promise<Metadata> {
	const found = await discovery(new URL(issuer), client_id, undefined, None(), {
		timeout: TIMEOUT_S,
		[customFetch]: (address, options) => exchange(agent, DISCOVERY, address, options),
	}).catch((error: Error) => {
		throw error.cause instanceof ProviderUnavailable ? error.cause : unusable("is none, or names another issuer");
	});
	const { success, output, issues } = v.safeParse(Metadata, found.serverMetadata());
	if (!success) throw unusable(`lacks a valid ${v.getDotPath(issues[0])}`);
	// The library compares parsed addresses, which have several spellings.
	if (output.issuer !== issuer) throw unusable("names another issuer");
	return output;
}

/** Reports a discovery document that does not allow logins. @param why contains nothing that was received */
export function unusable(why: string): ProviderUnavailable {
	return new ProviderUnavailable(`${DISCOVERY.name} ${why}`);
}
