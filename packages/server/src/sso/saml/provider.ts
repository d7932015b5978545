import { X509Certificate } from "node:crypto";
import { isProtected } from "../address.ts";
import { ProviderUnavailable } from "../model.ts";
import type { SamlSettings } from "../settings.ts";
import { allOf, attribute, is, named, parse, textOf } from "./xml.ts";

const REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";

/** The fewest bits of a trusted RSA key. */
const MIN_RSA_BITS = 2048;

/** The settings that describe a provider. */
export type ProviderSettings = Pick<SamlSettings, "idp_metadata" | "idp_entity_id" | "idp_sso_url" | "idp_certificate">;

/** An identity provider, as its settings describe it. */
export interface IdentityProvider {
	entity_id: string;
	/** The address to which people are sent with a request. */
	sso_url: string;
	/** Certificates that it signs with: base64 of the DER. At least one. */
	certificates: string[];
}

/**
 * Reads a provider's settings: its metadata, or the three fields in place of it.
 * @throws ProviderUnavailable saying what is wrong with them
 * Design: §11
 */
export function readProvider(settings: ProviderSettings, now_ms: number): IdentityProvider {
	const described = describe(settings, now_ms);
	const certificates = described.certificates.filter(isStrong);
	if (certificates.length === 0) unavailable("has no certificate with an RSA key of at least 2048 bits");
	return { ...described, certificates };
}

function describe(settings: ProviderSettings, now_ms: number): IdentityProvider {
	try {
		return settings.idp_metadata === undefined ? fromFields(settings) : fromMetadata(settings.idp_metadata, now_ms);
	} catch (cause) {
		if (cause instanceof ProviderUnavailable) throw cause;
		throw new ProviderUnavailable("the provider has metadata that cannot be read", { cause });
	}
}

function fromFields({ idp_entity_id, idp_sso_url, idp_certificate }: ProviderSettings): IdentityProvider {
	if (idp_entity_id === undefined || idp_sso_url === undefined)
		return unavailable("has no metadata, or no idp_entity_id and idp_sso_url");
	const blocks = idp_certificate?.matchAll(/-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g) ?? [];
	const certificates = Array.from(blocks, ([, body = ""]) => body.replace(/\s/g, ""));
	return { entity_id: idp_entity_id, sso_url: idp_sso_url, certificates };
}

function fromMetadata(text: string, now_ms: number): IdentityProvider {
	const elements = allOf(parseMetadata(text));
	const find = (name: string) => elements.filter((element) => is(element, "metadata", name));
	const [entity, ...otherEntities] = find("EntityDescriptor");
	const [role, ...otherRoles] = find("IDPSSODescriptor");
	if (entity === undefined || role === undefined || otherEntities.length + otherRoles.length > 0) {
		return unavailable("has metadata that does not describe exactly one identity provider");
	}
	if (elements.some((element) => isOver(element, now_ms))) return unavailable("has metadata that has expired");
	return {
		entity_id: attribute(entity, "entityID") ?? unavailable("has metadata without an entityID"),
		sso_url: ssoUrlOf(role),
		certificates: certificatesOf(role),
	};
}

/** Parses metadata. The instance admin who sets it is trusted, but a document type would make the parser read it in another way. */
function parseMetadata(text: string): Element {
	if (text.includes("<!DOCTYPE")) return unavailable("has metadata with a document type");
	return parse(text.trim());
}

/** Tells whether an element has expired. An unreadable time counts as past. */
function isOver(element: Element, now_ms: number): boolean {
	const end = attribute(element, "validUntil");
	return end !== undefined && !(Date.parse(end) > now_ms);
}

function ssoUrlOf(role: Element): string {
	const services = named(role, "metadata", "SingleSignOnService");
	const service = services.find((element) => attribute(element, "Binding") === REDIRECT);
	const url = service === undefined ? undefined : attribute(service, "Location");
	if (url === undefined) return unavailable("has no SingleSignOnService with the HTTP-Redirect binding");
	if (!isProtected(url, "https:", "http:"))
		return unavailable("has a SingleSignOnService that is not an https address");
	return url;
}

/** Lists the certificates for signatures; one without a use counts too. */
function certificatesOf(role: Element): string[] {
	const keys = named(role, "metadata", "KeyDescriptor").filter(
		(key) => (attribute(key, "use") ?? "signing") === "signing",
	);
	const certificates = keys.flatMap(allOf).filter((element) => is(element, "signature", "X509Certificate"));
	return certificates.map((element) => textOf(element).replace(/\s/g, ""));
}

function isStrong(certificate: string): boolean {
	try {
		const { publicKey } = new X509Certificate(Buffer.from(certificate, "base64"));
		const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
		return publicKey.asymmetricKeyType === "rsa" && bits >= MIN_RSA_BITS;
	} catch {
		return false;
	}
}

function unavailable(what: string): never {
	throw new ProviderUnavailable(`the provider ${what}`);
}
