import { type Answer, type Api, api } from "../harness/client.ts";
import { events, type ReadEvent } from "../harness/events.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { PEOPLE } from "../peers/slapd.ts";

/** A server at which people sign in with a directory's password. */
export interface LdapWorld {
	readonly server: Server;
	readonly client: Api;
	/** The instance admin. */
	readonly root: Person;
	/** Sets a provider. @param config its settings, those with a default left out */
	set(name: string, config: object): Promise<void>;
	/** What the test of the provider says. */
	tested(name: string): Promise<{ status: string; message?: string }>;
	signIn(name: string, username: string, password: string): Promise<Answer<Login>>;
	/** Every refusal that was written down since the last time this was asked, oldest first. */
	refusals(): Promise<ReadEvent[]>;
	close(): Promise<void>;
}

/** Starts a server without providers. */
export async function startLdapWorld(): Promise<LdapWorld> {
	const server = await startServer();
	const client = api(server);
	const root = await person(client, "root");
	const { token } = root;
	let told = 0;
	return {
		server,
		client,
		root,
		async set(name, config) {
			const raw = JSON.stringify({ type: "ldap", config: { user_base_dn: PEOPLE, ...config } });
			ok(await client.send("PUT", `/api/v1/auth/providers/${name}`, { token, raw }));
		},
		tested: async (name) => ok(await client.post(`/auth/providers/${name}/test`, undefined, { token })),
		signIn: (name, username, password) => client.post(`/auth/ldap/${name}/login`, { username, password }),
		async refusals() {
			const all = (await events(client, root, "type=auth.login.failed")).reverse();
			const since = all.slice(told);
			told = all.length;
			return since;
		},
		close: server.close,
	};
}
