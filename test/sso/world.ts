import { type Answer, type Api, api } from "../harness/client.ts";
import { events, type ReadEvent } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { type Server, type ServerOptions, startServer } from "../harness.ts";

/** A server where people sign in through providers of any protocol. */
export interface SsoWorld {
	readonly server: Server;
	readonly client: Api;
	/** The instance admin. */
	readonly root: Person;
	/** Sets a provider. @param config its settings; some have defaults. @param more further settings, which override those */
	set(name: string, type: "ldap" | "oidc" | "saml", config: object, more?: object): Promise<void>;
	/** Returns every recorded refusal since the last call, oldest first. */
	refusals(): Promise<ReadEvent[]>;
	close(): Promise<void>;
}

/** Starts a server without providers, and stops it again when that fails. @param options of the server */
export async function startSsoWorld(options?: ServerOptions): Promise<SsoWorld> {
	const server = await startServer(options);
	try {
		return await settleIn(server);
	} catch (error) {
		await server.close();
		throw error;
	}
}

async function settleIn(server: Server): Promise<SsoWorld> {
	const client = api(server);
	const root = await person(client, "root");
	let seen = 0;
	return {
		server,
		client,
		root,
		async set(name, type, config, more) {
			const raw = JSON.stringify({ type, config: { ...config, ...more } });
			ok(await client.send("PUT", `/api/v1/auth/providers/${name}`, { token: root.token, raw }));
		},
		async refusals() {
			const all = (await events(client, root, "type=auth.login.failed")).reverse();
			const since = all.slice(seen);
			seen = all.length;
			return since;
		},
		close: () => server.close(),
	};
}

/** Returns the cookie that the answer sets, as a browser sends it back; empty when it sets none. */
export function cookieOf(answer: Answer): string {
	const [cookie = ""] = answer.headers["set-cookie"] ?? [];
	return cookie.split(";", 1).join();
}
