import { entry, honestBut, result, startFakeLdap } from "../../peers/ldap-fake.ts";
import { startFakeProvider } from "../../peers/oidc-fake.ts";
import { asField, honestly, makeKey, writeDocument } from "../../peers/saml-documents.ts";
import { longest, slippedIn } from "../../peers/saml-documents-heavy.ts";
import { ask, keepAsking, posting, touch } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import type { RequestText } from "../connection.ts";

const V1 = "/api/v1/auth";
const IDP = "https://idp.example.test/";
const DIRECTORY = "ou=people,dc=test";

const LDAP = posting(`${V1}/ldap/ldap/login`, { username: "lin", password: "not the password" });
const OIDC = { path: `${V1}/oidc/oidc/callback?code=${"c".repeat(1000)}&state=${"s".repeat(1000)}` };

/** The cookie of a browser that has begun to sign in with SAML; without one the server reads no posted form. */
let cookie = "";

/** Makes a document with the longest reading time allowed, which the provider did not sign. */
function heavyForm(): RequestText {
	const about = { issuer: IDP, audience: IDP, acs_url: IDP, request_id: "_none" };
	const document = writeDocument(honestly(about), makeKey("rsa:2048"), slippedIn(longest()));
	const body = new URLSearchParams({ SAMLResponse: asField(document) }).toString();
	return {
		method: "POST",
		path: `${V1}/saml/saml/acs`,
		headers: { "content-type": "application/x-www-form-urlencoded", cookie },
		body,
	};
}

async function prepare(target: Target): Promise<void> {
	const set = (type: string, config: object) =>
		ask(target, { ...posting(`${V1}/providers/${type}`, { type, config }), method: "PUT" }, target.admin);
	const { issuer, client_id, client_secret, ca_cert } = await startFakeProvider();
	await set("oidc", { issuer, client_id, client_secret, ca_cert });
	const { certificate } = makeKey("rsa:2048");
	await set("saml", { idp_entity_id: IDP, idp_sso_url: `${IDP}sso`, idp_certificate: certificate });
	const nobody = honestBut("search", (request) =>
		Buffer.concat([entry(request.id, `uid=lin,${DIRECTORY}`, { entryUUID: ["5f1c"] }), result(request, 0)]),
	);
	const directory = await startFakeLdap(nobody, { tls: true });
	await set("ldap", { url: directory.url, ca_cert: directory.ca, user_base_dn: DIRECTORY });
	const begun = await ask(target, { path: `${V1}/saml/saml/login` });
	[cookie = ""] = begun.headers["set-cookie"]?.[0]?.split(";", 1) ?? [];
	await touch(target, heavyForm(), LDAP, OIDC);
}

/** Sign-ins through providers that are not what they claim. */
export const SIGN_IN: Attack = {
	name: "sso",
	title: "invalid SAML documents, OpenID Connect callbacks and LDAP logins, 12 connections",
	prepare,
	run(target, counts, over) {
		const requests = [heavyForm(), OIDC, LDAP, { path: `${V1}/oidc/oidc/login` }];
		let asked = 0;
		const next = () => requests[asked++ % requests.length] ?? OIDC;
		const connections = scaled(target, 12);
		return keepAsking(target, { connections, source: (at) => sourceOf(target, at % 3), next }, counts, over);
	},
};
