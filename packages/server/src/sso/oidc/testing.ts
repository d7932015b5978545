import { randomBytes } from "node:crypto";
import { type CustomFetchOptions, customFetch } from "openid-client";
import * as v from "valibot";
import { createBrowser } from "../../../../../test/peers/oidc-browser.ts";
import type { OidcPeer } from "../../../../../test/peers/oidc-server.ts";
import type { Asserted } from "../model.ts";
import { OidcSettings } from "../settings.ts";
import { createKeys } from "./keys.ts";
import type { Metadata } from "./metadata.ts";
import { identifyAt, type Oidc, type OidcFlow } from "./oidc.ts";
import { configure } from "./provider.ts";

const REDIRECT = "https://svc.example/api/v1/auth/oidc/test/callback";

/** Addresses to which providers send browsers back. */
export const redirect_uris = [REDIRECT];

const random = () => randomBytes(32).toString("base64url");

/** Begins a login. */
export function newFlow(): OidcFlow {
	return { redirect_uri: REDIRECT, state: random(), nonce: random(), verifier: random() };
}

/** Makes the settings for this provider. */
export function settingsOf({ issuer, client_id, client_secret, ca_cert }: OidcPeer, more: object = {}): OidcSettings {
	return v.parse(OidcSettings, { issuer, client_id, client_secret, ca_cert, ...more });
}

/** Logs in at the provider. @returns the query that the browser comes back with */
export async function visit(oidc: Oidc, settings: OidcSettings, flow: OidcFlow): Promise<Record<string, string>> {
	const address = await oidc.authorizationUrl("1", settings, flow);
	const back = await createBrowser(settings.ca_cert ?? "").follow(address, REDIRECT);
	return Object.fromEntries(back.searchParams);
}

/** Does a whole login. */
export async function logIn(oidc: Oidc, settings: OidcSettings): Promise<Asserted> {
	const flow = newFlow();
	return oidc.identify("1", settings, flow, await visit(oidc, settings, flow), "192.0.2.1");
}

/** Ends a login with these answers of its provider, without a network. */
export function endLogin(
	settings: OidcSettings,
	metadata: Metadata,
	flow: OidcFlow,
	answers: Readonly<Record<"keys" | "token" | "userinfo", string | Buffer>>,
): Promise<Asserted> {
	const give = async (name: keyof typeof answers) =>
		new Response(Buffer.from(answers[name]), { headers: { "content-type": "application/json" } });
	const keys = createKeys(() => give("keys"));
	const config = configure(settings, metadata);
	config[customFetch] = (address: string, options: CustomFetchOptions) => {
		if (address === metadata.jwks_uri) return keys(options);
		return give(options.method === "POST" ? "token" : "userinfo");
	};
	const provider = { config, has_userinfo: true, testKeys: async () => undefined };
	return identifyAt(provider, settings, flow, new URL(`${flow.redirect_uri}?code=c&state=${flow.state}`));
}
