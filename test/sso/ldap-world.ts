import type { Answer } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import type { Login } from "../harness/resources.ts";
import type { ServerOptions } from "../harness.ts";
import { PEOPLE } from "../peers/slapd.ts";
import { type SsoWorld, startSsoWorld } from "./world.ts";

/** A server where people sign in with a directory's password. */
export interface LdapWorld extends Omit<SsoWorld, "set"> {
	/** Sets a provider. @param config its settings; some have defaults */
	set(name: string, config: object): Promise<void>;
	/** Returns the result of the provider's test. */
	tested(name: string): Promise<{ status: string; message?: string }>;
	signIn(name: string, username: string, password: string): Promise<Answer<Login>>;
}

/** Starts a server without providers. @param options of the server */
export async function startLdapWorld(options?: ServerOptions): Promise<LdapWorld> {
	const { set, ...sso } = await startSsoWorld(options);
	const { client, root } = sso;
	return {
		...sso,
		set: (name, config) => set(name, "ldap", { user_base_dn: PEOPLE }, config),
		tested: async (name) => ok(await client.post(`/auth/providers/${name}/test`, undefined, { token: root.token })),
		signIn: (name, username, password) => client.post(`/auth/ldap/${name}/login`, { username, password }),
	};
}
