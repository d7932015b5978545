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

/** Writes our metadata. Spec: API › SSO */
export function writeMetadata({ entity_id, acs_url }: ServiceProvider): string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${NS.metadata}" entityID="${escapeXml(entity_id)}">
	<md:SPSSODescriptor AuthnRequestsSigned="false" WantAssertionsSigned="true" protocolSupportEnumeration="${NS.protocol}">
		<md:NameIDFormat>${PERSISTENT}</md:NameIDFormat>
		<md:NameIDFormat>${EMAIL}</md:NameIDFormat>
		<md:AssertionConsumerService index="0" isDefault="true" Binding="${POST}" Location="${escapeXml(acs_url)}"/>
	</md:SPSSODescriptor>
</md:EntityDescriptor>
`;
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

/** Writes the address that carries a request to the provider, by the HTTP-Redirect binding. */
export function writeLoginUrl(login: LoginRequest, sp: ServiceProvider): string {
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
	const url = new URL(sso_url);
	url.searchParams.append("SAMLRequest", deflateRawSync(request).toString("base64"));
	return url.href;
}

function escapeXml(text: string): string {
	return text.replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
