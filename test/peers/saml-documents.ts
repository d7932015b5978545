import { execFileSync, spawnSync } from "node:child_process";
import { createHash, sign as signBytes } from "node:crypto";
import { inflateRawSync } from "node:zlib";

/* A provider whose responses the test writes: honest ones and, with one change, ones that no provider would send. Everything is in
   canonical form, so that the signed data is the text itself. */

/** `false` where keys can be made, else the reason to skip the test. */
export const skipWithoutOpenssl: string | false =
	spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed: apt-get install openssl";

const SAML = "urn:oasis:names:tc:SAML:2.0:assertion";
const SAMLP = "urn:oasis:names:tc:SAML:2.0:protocol";
export const DS = "http://www.w3.org/2000/09/xmldsig#";
export const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
export const ENCRYPTION = "http://www.w3.org/2001/04/xmlenc#";
export const ENVELOPED = `${DS}enveloped-signature`;

/** A key and its self-signed certificate, PEM. */
export interface SigningKey {
	private_key: string;
	certificate: string;
}

/** Makes a key that nobody knows. @param kind value of `openssl req -newkey` */
export function makeKey(kind: string, ...options: string[]): SigningKey {
	const text = execFileSync(
		"openssl",
		["req", "-x509", "-newkey", kind, ...options, "-nodes", "-keyout", "-", "-subj", "/CN=idp", "-days", "2"],
		{ encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
	);
	const at = text.indexOf("-----BEGIN CERTIFICATE");
	return { private_key: text.slice(0, at), certificate: text.slice(at) };
}

/** Returns the certificate as XML has it: base64 without the lines around it. */
export const bare = ({ certificate }: SigningKey): string => certificate.replace(/-----[^-]+-----|\s/g, "");

/** The content of an honest response. Times are seconds from now. */
export interface Said {
	issuer: string;
	audience: string;
	acs_url: string;
	request_id: string;
	now: Date;
	name_id: string;
	response_id: string;
	assertion_id: string;
	not_before_s: number;
	not_on_or_after_s: number;
	confirmed_until_s: number;
	issued_s: number;
	signed_in_s: number;
	session_until_s: number;
}

/** Returns the identifier of the request in a browser's redirect to the provider. */
export function requestIdOf(location: string): string {
	const request = new URL(location).searchParams.get("SAMLRequest") ?? "";
	return / ID="([^"]*)"/.exec(inflateRawSync(Buffer.from(request, "base64")).toString())?.[1] ?? "";
}

let documents = 0;

/** Returns a provider's current statement about Alice; each response has its own identifiers. */
export function honestly(about: Pick<Said, "issuer" | "audience" | "acs_url" | "request_id">): Said {
	documents++;
	return {
		...about,
		now: new Date(),
		name_id: "alice",
		response_id: `_response-${documents}`,
		assertion_id: `_assertion-${documents}`,
		not_before_s: -30,
		not_on_or_after_s: 300,
		confirmed_until_s: 300,
		issued_s: 0,
		signed_in_s: -5,
		session_until_s: 28_800,
	};
}

const at = (now: Date, seconds: number): string => new Date(now.getTime() + seconds * 1000).toISOString();

/** Writes an assertion without a signature. */
export function writeAssertion(said: Said): string {
	const { now } = said;
	const confirmation =
		`<saml:SubjectConfirmationData InResponseTo="${said.request_id}" NotOnOrAfter="${at(now, said.confirmed_until_s)}"` +
		` Recipient="${said.acs_url}"></saml:SubjectConfirmationData>`;
	return [
		`<saml:Assertion xmlns:saml="${SAML}" ID="${said.assertion_id}" IssueInstant="${at(now, said.issued_s)}" Version="2.0">`,
		`<saml:Issuer>${said.issuer}</saml:Issuer>`,
		`<saml:Subject><saml:NameID>${said.name_id}</saml:NameID>`,
		`<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">${confirmation}</saml:SubjectConfirmation>`,
		"</saml:Subject>",
		`<saml:Conditions NotBefore="${at(now, said.not_before_s)}" NotOnOrAfter="${at(now, said.not_on_or_after_s)}">`,
		`<saml:AudienceRestriction><saml:Audience>${said.audience}</saml:Audience></saml:AudienceRestriction>`,
		"</saml:Conditions>",
		`<saml:AuthnStatement AuthnInstant="${at(now, said.signed_in_s)}" SessionNotOnOrAfter="${at(now, said.session_until_s)}">`,
		"<saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password",
		"</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>",
		`<saml:AttributeStatement>${attribute("mail", "alice@example.com")}${attribute("displayName", "Alice")}`,
		`${attribute("groups", "admins", "staff")}</saml:AttributeStatement>`,
		"</saml:Assertion>",
	].join("");
}

/** Writes an attribute with its values. */
export function attribute(name: string, ...values: string[]): string {
	const written = values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`);
	return `<saml:Attribute Name="${name}">${written.join("")}</saml:Attribute>`;
}

/** Writes a response around the given content, without a signature. */
export function writeResponse(said: Said, inner: string): string {
	return [
		`<samlp:Response xmlns:samlp="${SAMLP}" Destination="${said.acs_url}" ID="${said.response_id}"`,
		` InResponseTo="${said.request_id}" IssueInstant="${at(said.now, said.issued_s)}" Version="2.0">`,
		`<saml:Issuer xmlns:saml="${SAML}">${said.issuer}</saml:Issuer>`,
		'<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"></samlp:StatusCode></samlp:Status>',
		`${inner}</samlp:Response>`,
	].join("");
}

/** The way to sign an element. */
export interface Signing {
	key: SigningKey;
	/** Name of the algorithm, and the function that makes the signature from the key and the text. */
	method: string;
	make(text: string, key: SigningKey): Buffer;
	digest: string;
	hash: string;
	transforms: string[];
	/** Replaces the element's own identifier. */
	uri: string | undefined;
	/** Replaces the element's own text. */
	over: string | undefined;
	/** Key information in the signature. */
	key_info: string;
	/** Makes the last change to the signed information before it is signed. */
	signed_info(text: string): string;
}

/** Signs with RSA and a hash, as `openssl` names it. */
export const rsa =
	(hash: string): Signing["make"] =>
	(text, { private_key }) =>
		signBytes(hash, Buffer.from(text), private_key);

/** Signs as providers do. */
export function plainSigning(key: SigningKey): Signing {
	return {
		key,
		method: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
		make: rsa("sha256"),
		digest: `${ENCRYPTION}sha256`,
		hash: "sha256",
		transforms: [
			`<ds:Transform Algorithm="${ENVELOPED}"></ds:Transform>`,
			`<ds:Transform Algorithm="${EXCLUSIVE}"></ds:Transform>`,
		],
		uri: undefined,
		over: undefined,
		key_info: `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${bare(key)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`,
		signed_info: (text) => text,
	};
}

/** Writes the signature of an element. */
export function writeSignature(element: string, signing: Signing): string {
	const id = / ID="([^"]*)"/.exec(element)?.[1] ?? "";
	const digest = createHash(signing.hash)
		.update(signing.over ?? element)
		.digest("base64");
	const info = signing.signed_info(
		[
			"<ds:SignedInfo>",
			`<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE}"></ds:CanonicalizationMethod>`,
			`<ds:SignatureMethod Algorithm="${signing.method}"></ds:SignatureMethod>`,
			`<ds:Reference URI="${signing.uri ?? `#${id}`}"><ds:Transforms>${signing.transforms.join("")}</ds:Transforms>`,
			`<ds:DigestMethod Algorithm="${signing.digest}"></ds:DigestMethod>`,
			`<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`,
		].join(""),
	);
	const signed = info.replace("<ds:SignedInfo>", `<ds:SignedInfo xmlns:ds="${DS}">`);
	const value = signing.make(signed, signing.key).toString("base64");
	return `<ds:Signature xmlns:ds="${DS}">${info}<ds:SignatureValue>${value}</ds:SignatureValue>${signing.key_info}</ds:Signature>`;
}

/** Inserts a signature where the schema wants it: after the issuer. */
export function withSignature(element: string, signature: string): string {
	const end = element.indexOf("</saml:Issuer>") + "</saml:Issuer>".length;
	return element.slice(0, end) + signature + element.slice(end);
}

/** The signed part. */
export type Signed = "assertion" | "response" | "both" | "nothing";

/** A response with one change somewhere. */
export interface Change {
	said?: Partial<Said>;
	signed?: Signed;
	signing?: Partial<Signing>;
	/** Changes the assertion before it is signed. */
	assertion?(text: string): string;
	/** Changes the response before it is signed, with the signed assertion in it. */
	response?(text: string): string;
	/** Changes the finished text of the response. */
	finished?(text: string): string;
}

/** Writes a response that differs from an honest one only by the change. */
export function writeDocument(said: Said, key: SigningKey, change: Change = {}): string {
	const all = { ...said, ...change.said };
	const signed = change.signed ?? "assertion";
	const signing = { ...plainSigning(key), ...change.signing };
	const same = (text: string) => text;
	const sign = (text: string, isSigned: boolean) =>
		isSigned ? withSignature(text, writeSignature(text, signing)) : text;
	const assertion = sign((change.assertion ?? same)(writeAssertion(all)), signed === "assertion" || signed === "both");
	const response = (change.response ?? same)(writeResponse(all, assertion));
	return (change.finished ?? same)(sign(response, signed === "response" || signed === "both"));
}

/** Replaces one text, which must occur once, with another. */
export function swap(from: string, to: string): (text: string) => string {
	return (text) => {
		const pieces = text.split(from);
		if (pieces.length !== 2) throw new Error(`the document has ${pieces.length - 1} times ${from}`);
		return pieces.join(to);
	};
}

/** Encodes the document for the form's field. */
export const asField = (document: string | Buffer): string => Buffer.from(document).toString("base64");
