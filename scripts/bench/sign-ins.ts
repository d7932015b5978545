import { entry, honestBut, result, startFakeLdap } from "../../test/peers/ldap-fake.ts";
import { startFakeProvider } from "../../test/peers/oidc-fake.ts";
import { asField, honestly, makeKey, requestIdOf, writeDocument } from "../../test/peers/saml-documents.ts";
import { type Answer, type Ask, ask, exchange } from "./exchange.ts";
import type { SvcServer } from "./svc-server.ts";

const V1 = "/api/v1/auth";
const IDP = "https://idp.example.test/";
const DIRECTORY = "ou=people,dc=test";

/** A way to sign in, at a provider that runs in this process. */
export interface SignIns {
	/** Does everything before a sign-in's last request, and returns that request. */
	prepare(): Promise<Ask>;
	stop(): Promise<void>;
}

/** Sets up a provider for sign-ins. @param token of the instance admin */
export type StartSignIns = (server: SvcServer, token: string) => Promise<SignIns>;

/** Sign-ins that return from an OpenID Connect provider with a code. */
export const oidcSignIns: StartSignIns = async ({ url }, token) => {
	const peer = await startFakeProvider();
	const { issuer, client_id, client_secret, ca_cert } = peer;
	await set(url, token, "oidc", { issuer, client_id, client_secret, ca_cert });
	return {
		async prepare() {
			const { location, cookie } = await begin(url, "oidc");
			const visited = await exchange(issuer, { method: "GET", path: location.pathname + location.search });
			const { pathname, search } = new URL(header(visited, "location"));
			return { method: "GET", path: pathname + search, cookie };
		},
		stop: peer.stop,
	};
};

/** Sign-ins that return from a SAML identity provider with its response. */
export const samlSignIns: StartSignIns = async ({ url }, token) => {
	const key = makeKey("rsa:2048");
	const names = { name_attribute: "displayName", groups_attribute: "groups" };
	const idp = { idp_entity_id: IDP, idp_sso_url: `${IDP}sso`, idp_certificate: key.certificate };
	await set(url, token, "saml", { ...idp, ...names });
	const path = `${V1}/saml/saml/acs`;
	return {
		async prepare() {
			const { location, cookie } = await begin(url, "saml");
			const said = honestly({
				issuer: IDP,
				audience: `${url}${V1}/saml/saml/metadata`,
				acs_url: url + path,
				request_id: requestIdOf(location.href),
			});
			const document = writeDocument({ ...said, name_id: "saml@example.test" }, key);
			return { method: "POST", path, cookie, form: { SAMLResponse: asField(document) } };
		},
		stop: async () => undefined,
	};
};

/** Sign-ins with a directory's password. */
export const ldapSignIns: StartSignIns = async ({ url }, token) => {
	const person = { entryUUID: ["5f1c"], mail: ["ldap@example.test"], cn: ["Lin"] };
	const found = honestBut("search", (request) =>
		Buffer.concat([entry(request.id, `uid=lin,${DIRECTORY}`, person), result(request, 0)]),
	);
	const directory = await startFakeLdap(found, { tls: true });
	await set(url, token, "ldap", { url: directory.url, ca_cert: directory.ca, user_base_dn: DIRECTORY });
	return {
		async prepare() {
			return { method: "POST", path: `${V1}/ldap/ldap/login`, body: { username: "lin", password: "a password" } };
		},
		stop: directory.stop,
	};
};

/** Sets a provider, named like its type. */
async function set(url: string, token: string, type: string, config: object): Promise<void> {
	await ask(url, { method: "PUT", path: `${V1}/providers/${type}`, token, body: { type, config } });
}

async function begin(url: string, type: string): Promise<{ location: URL; cookie: string }> {
	const answer = await exchange(url, { method: "GET", path: `${V1}/${type}/${type}/login` });
	const [cookie = ""] = header(answer, "set-cookie").split(";", 1);
	return { location: new URL(header(answer, "location")), cookie };
}

/** @throws Error when there is none */
function header({ headers, status, body }: Answer, name: string): string {
	const found = headers.find(([other]) => other.toLowerCase() === name);
	if (found === undefined) throw new Error(`${name} is missing in an answer with ${status}: ${body}`);
	return found[1];
}
