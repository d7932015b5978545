import { PASSWORD, unique } from "./fixtures.ts";
import type { PreparedRequest } from "./requests.ts";
import type { World } from "./world.ts";

const V1 = "/api/v1/auth";

/** A provider that the server need not contact. */
const PROVIDER = {
	type: "ldap",
	display_name: "The directory",
	config: { url: "ldap://127.0.0.1:1", user_base_dn: "ou=people,dc=test", bind_dn: "cn=svc", bind_password: "bound" },
};

const WHO = { username: "ada", password: "a password" };
const PROOF = { code: "no such code", verifier: "v".repeat(43) };

async function fresh({ api, tokens }: World): Promise<string> {
	const path = `${V1}/providers/${unique("corp")}`;
	const { status, text } = await api.send("PUT", path, {
		token: tokens.instance.session,
		raw: JSON.stringify(PROVIDER),
	});
	if (status !== 200) throw new Error(text);
	return path;
}

/** A request for each row of single sign-on. Nobody has the provider `none`: `test/sso` tests the flows themselves with real ones. */
export const SSO_REQUESTS: Readonly<Record<string, (world: World) => PreparedRequest | Promise<PreparedRequest>>> = {
	"GET /api/v1/auth/oidc/{provider}/login": () => ({ path: `${V1}/oidc/none/login` }),
	"GET /api/v1/auth/oidc/{provider}/callback": () => ({ path: `${V1}/oidc/none/callback?code=a&state=b` }),
	"GET /api/v1/auth/saml/{provider}/login": () => ({ path: `${V1}/saml/none/login` }),
	"POST /api/v1/auth/saml/{provider}/acs": () => ({ path: `${V1}/saml/none/acs`, body: {} }),
	"GET /api/v1/auth/saml/{provider}/metadata": () => ({ path: `${V1}/saml/none/metadata` }),
	"POST /api/v1/auth/ldap/{provider}/login": () => ({ path: `${V1}/ldap/none/login`, body: WHO }),
	"POST /api/v1/auth/ldap/{provider}/link": () => ({ path: `${V1}/ldap/none/link`, body: WHO }),
	"POST /api/v1/auth/sso/token": () => ({ path: `${V1}/sso/token`, body: PROOF }),
	"POST /api/v1/auth/sso/link": () => ({ path: `${V1}/sso/link`, body: PROOF }),
	"DELETE /api/v1/auth/identities/{id}": () => ({
		path: `${V1}/identities/${crypto.randomUUID()}`,
		body: { current_password: PASSWORD },
	}),
	"GET /api/v1/auth/providers/{name}": async (world) => ({ path: await fresh(world) }),
	"PUT /api/v1/auth/providers/{name}": () => ({ path: `${V1}/providers/${unique("corp")}`, body: PROVIDER }),
	"DELETE /api/v1/auth/providers/{name}": async (world) => ({ path: await fresh(world) }),
	"POST /api/v1/auth/providers/{name}/test": async (world) => ({ path: `${await fresh(world)}/test` }),
};

/** Statuses for permitted callers where success would take an identity provider, or a second factor: `test/sso` and `test/api/factors.test.ts` cover the rest. */
export const WITHOUT_PROVIDER: Readonly<Record<string, number>> = {
	"GET /api/v1/auth/oidc/{provider}/login": 404,
	"GET /api/v1/auth/oidc/{provider}/callback": 404,
	"GET /api/v1/auth/saml/{provider}/login": 404,
	"POST /api/v1/auth/saml/{provider}/acs": 400,
	"GET /api/v1/auth/saml/{provider}/metadata": 404,
	"POST /api/v1/auth/ldap/{provider}/login": 404,
	"POST /api/v1/auth/ldap/{provider}/link": 404,
	"POST /api/v1/auth/sso/token": 401,
	"POST /api/v1/auth/sso/link": 401,
	"DELETE /api/v1/auth/identities/{id}": 404,
	"POST /api/v1/auth/factors/{id}/confirm": 404,
	"POST /api/v1/auth/recovery-codes": 409,
	"DELETE /api/v1/auth/factors/{id}": 404,
};
