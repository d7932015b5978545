import assert from "node:assert/strict";
import { type Answer, type Api, api } from "../harness/client.ts";
import { events, type ReadEvent } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import type { OidcPeer } from "../peers/oidc-server.ts";

/** A login that a browser has begun: the provider's address, and the browser's cookie. */
export interface Begun {
	readonly location: string;
	readonly cookie: string;
}

/** A server at which people sign in with OpenID Connect. */
export interface OidcWorld {
	readonly server: Server;
	readonly client: Api;
	/** The instance admin. */
	readonly root: Person;
	/** Where the provider of this name has to send browsers back to. */
	redirectUri(name: string): string;
	/** Sets a provider. @param more of its settings */
	set(name: string, peer: OidcPeer, more?: object): Promise<void>;
	/** @param query of the address where a login begins */
	begin(name: string, query?: string): Promise<Begun>;
	/** Logs in at the provider. @returns the query that the browser comes back with */
	visit(name: string, begun: Begun): Promise<URLSearchParams>;
	/** Comes back. @param cookie none when it is left out */
	finish(name: string, query: URLSearchParams | Record<string, string>, cookie?: string): Promise<Answer<Login>>;
	/** All of it. */
	signIn(name: string): Promise<Answer<Login>>;
	/** Every refusal that was written down since the last time this was asked, oldest first. */
	refusals(): Promise<ReadEvent[]>;
}

/** Starts a server without providers. */
export async function startOidcWorld(): Promise<OidcWorld & { close(): Promise<void> }> {
	const server = await startServer();
	const client = api(server);
	const root = await person(client, "root");
	const peers = new Map<string, OidcPeer>();
	let told = 0;
	const world: OidcWorld = {
		server,
		client,
		root,
		redirectUri: (name) => `${server.url}/api/v1/auth/oidc/${name}/callback`,
		async set(name, peer, more = {}) {
			peers.set(name, peer);
			const { issuer, client_id, client_secret, ca_cert } = peer;
			const raw = JSON.stringify({ type: "oidc", config: { issuer, client_id, client_secret, ca_cert, ...more } });
			ok(await client.send("PUT", `/api/v1/auth/providers/${name}`, { token: root.token, raw }));
		},
		async begin(name, query = "") {
			const answer = await client.get(`/auth/oidc/${name}/login?${query}`);
			assert.equal(answer.status, 302, answer.text);
			const [cookie = ""] = answer.headers["set-cookie"] ?? [];
			return { location: String(answer.headers.location), cookie: cookie.split(";", 1).join() };
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
		async refusals() {
			const all = (await events(client, root, "type=auth.login.failed")).reverse();
			const since = all.slice(told);
			told = all.length;
			return since;
		},
	};
	return Object.assign(world, { close: server.close });
}
