import { sign } from "node:crypto";
import { promisify } from "node:util";
import { deflateRawSync } from "node:zlib";
import { NS } from "./namespaces.ts";

const POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
const EMAIL = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** This server as a provider knows it. */
export interface ServiceProvider {
	entity_id: string;
	/** The address to which the provider sends its answers. */
	acs_url: string;
}

/** Signs in a thread of Node's pool: anybody may begin a login, and a signature takes a millisecond. */
const signAside = promisify(sign);
const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/**
 * Writes our metadata.
 * @param certificate PEM of the key that signs our requests; undefined when none does
 * Spec: API › SSO
 */
export function writeMetadata({ entity_id, acs_url }: ServiceProvider, certificate?: string): string {
	const isSigned = certificate !== undefined;
	return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${NS.metadata}" entityID="${escapeXml(entity_id)}">
	<md:SPSSODescriptor AuthnRequestsSigned="${isSigned}" WantAssertionsSigned="true" protocolSupportEnumeration="${NS.protocol}">${isSigned ? writeKey(certificate) : ""}
		<md:NameIDFormat>${PERSISTENT}</md:NameIDFormat>
		<md:NameIDFormat>${EMAIL}</md:NameIDFormat>
		<md:AssertionConsumerService index="0" isDefault="true" Binding="${POST}" Location="${escapeXml(acs_url)}"/>
	</md:SPSSODescriptor>
</md:EntityDescriptor>
`;
}

function writeKey(certificate: string): string {
	const bytes = certificate.replace(/-----[^-]+-----|\s/g, "");
	return `
		<md:KeyDescriptor use="signing">
			<ds:KeyInfo xmlns:ds="${NS.signature}"><ds:X509Data><ds:X509Certificate>${bytes}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
		</md:KeyDescriptor>`;
}

/** A request for a login. */
export interface LoginRequest {
	/** An unguessable XML name. */
	id: string;
	/** The provider's address for requests. */
	sso_url: string;
	/** True if the person must sign in again, even if the provider still knows them. */
	reauthenticate: boolean;
	/** True if people must be named by their e-mail. Otherwise the provider chooses: some reject a request for a format. */
	by_email: boolean;
	now: Date;
}

/**
 * Writes the address that carries a request to the provider, by the HTTP-Redirect binding (SAML 2.0 Bindings §3.4.4).
 * @param key PEM of the private key that signs the request; undefined when none does
 */
export async function writeLoginUrl(login: LoginRequest, sp: ServiceProvider, key?: string): Promise<string> {
	const { id, sso_url, reauthenticate, by_email, now } = login;
	const attributes = {
		ID: id,
		Version: "2.0",
		IssueInstant: now.toISOString(),
		Destination: sso_url,
		ProtocolBinding: POST,
		AssertionConsumerServiceURL: sp.acs_url,
	};
	const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeXml(value)}"`);
	const forced = reauthenticate ? ' ForceAuthn="true"' : "";
	const issuer = `<saml:Issuer xmlns:saml="${NS.assertion}">${escapeXml(sp.entity_id)}</saml:Issuer>`;
	const policy = `<samlp:NameIDPolicy AllowCreate="true"${by_email ? ` Format="${EMAIL}"` : ""}/>`;
	const request = `<samlp:AuthnRequest xmlns:samlp="${NS.protocol}"${written.join("")}${forced}>${issuer}${policy}</samlp:AuthnRequest>`;
	const query = new URLSearchParams({ SAMLRequest: deflateRawSync(request).toString("base64") });
	if (key !== undefined) {
		query.append("SigAlg", RSA_SHA256);
		const signature = await signAside("sha256", Buffer.from(query.toString()), key);
		query.append("Signature", signature.toString("base64"));
	}
	const url = new URL(sso_url);
	for (const [name, value] of query) url.searchParams.append(name, value);
	return url.href;
}

function escapeXml(text: string): string {
	return text.replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
