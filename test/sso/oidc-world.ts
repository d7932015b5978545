import assert from "node:assert/strict";
import type { Answer } from "../harness/client.ts";
import type { Login } from "../harness/resources.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import type { OidcPeer } from "../peers/oidc-server.ts";
import { cookieOf, type SsoWorld, startSsoWorld } from "./world.ts";

/** A login begun by a browser: the provider's address, and the browser's cookie. */
export interface Begun {
	readonly location: string;
	readonly cookie: string;
}

/** A server where people sign in with OpenID Connect. */
export interface OidcWorld extends Omit<SsoWorld, "set"> {
	/** Returns the address to which the provider of this name must send browsers back. */
	redirectUri(name: string): string;
	/** Sets a provider. @param more further settings */
	set(name: string, peer: OidcPeer, more?: object): Promise<void>;
	/** @param query of the address where a login begins */
	begin(name: string, query?: string): Promise<Begun>;
	/** Logs in at the provider. @returns the query with which the browser comes back */
	visit(name: string, begun: Begun): Promise<URLSearchParams>;
	/** Returns from the provider to the server. @param cookie none by default */
	finish(name: string, query: URLSearchParams | Record<string, string>, cookie?: string): Promise<Answer<Login>>;
	/** Runs the whole login. */
	signIn(name: string): Promise<Answer<Login>>;
}

/** Starts a server without providers. */
export async function startOidcWorld(): Promise<OidcWorld> {
	const { set, ...sso } = await startSsoWorld();
	const { server, client } = sso;
	const peers = new Map<string, OidcPeer>();
	const world: OidcWorld = {
		...sso,
		redirectUri: (name) => `${server.url}/api/v1/auth/oidc/${name}/callback`,
		async set(name, peer, more) {
			peers.set(name, peer);
			const { issuer, client_id, client_secret, ca_cert } = peer;
			await set(name, "oidc", { issuer, client_id, client_secret, ca_cert }, more);
		},
		async begin(name, query = "") {
			const answer = await client.get(`/auth/oidc/${name}/login?${query}`);
			assert.equal(answer.status, 302, answer.text);
			return { location: String(answer.headers.location), cookie: cookieOf(answer) };
		},
		async visit(name, { location }) {
			const back = await createBrowser(peers.get(name)?.ca_cert ?? "").follow(location, world.redirectUri(name));
			return back.searchParams;
		},
		finish: (name, query, cookie) =>
			client.get(`/auth/oidc/${name}/callback?${new URLSearchParams(query)}`, {
				headers: cookie === undefined ? {} : { cookie },
			}),
		async signIn(name) {
			const begun = await world.begin(name);
			return world.finish(name, await world.visit(name, begun), begun.cookie);
		},
	};
	return world;
}
