import { randomBytes } from "node:crypto";
import { Agent } from "node:https";
import { duplexPair } from "node:stream";
import { type CustomFetchOptions, customFetch } from "openid-client";
import * as v from "valibot";
import { createBrowser } from "../../../../../test/peers/oidc-browser.ts";
import type { OidcPeer } from "../../../../../test/peers/oidc-server.ts";
import type { Asserted } from "../model.ts";
import { OidcSettings } from "../settings.ts";
import { exchange, KEYS, TOKEN, USERINFO } from "./exchange.ts";
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

/** Answers every request with a document, without a network. */
export function answering(document: string | Buffer): Agent {
	const body = Buffer.from(document);
	const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
	const agent = new Agent({ keepAlive: false });
	agent.createConnection = () => {
		const [near, far] = duplexPair();
		far.once("data", () => far.end(Buffer.concat([Buffer.from(head), body])));
		return near;
	};
	return agent;
}

/** Ends a login with these answers of its provider, without a network. */
export function endLogin(
	settings: OidcSettings,
	metadata: Metadata,
	flow: OidcFlow,
	answers: Readonly<Record<"keys" | "token" | "userinfo", string | Buffer>>,
): Promise<Asserted> {
	const keys = createKeys((options: CustomFetchOptions) =>
		exchange(answering(answers.keys), KEYS, metadata.jwks_uri, options),
	);
	const config = configure(settings, metadata);
	config[customFetch] = (address, options) => {
		if (address === metadata.jwks_uri) return keys(options);
		const [question, answer] = options.method === "POST" ? [TOKEN, answers.token] : [USERINFO, answers.userinfo];
		return exchange(answering(answer), question, address, options);
	};
	const provider = { config, has_userinfo: true, testKeys: async () => undefined };
	return identifyAt(provider, settings, flow, new URL(`${flow.redirect_uri}?code=c&state=${flow.state}`));
}
