import { SamlLib } from "samlify";
import { SsoRefusal } from "../model.ts";
import type { ResponseDocument } from "./document.ts";
import { NS } from "./namespaces.ts";
import { attribute, childrenOf, is, named, only, parse } from "./xml.ts";

const ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

/** The strong methods among those that samlify can verify: it supports neither ECDSA nor SHA-384. */
const SIGNATURE_METHODS = [
	"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
	"http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
	"http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
];
const DIGEST_METHODS = ["http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmlenc#sha512"];

type Metadata = NonNullable<Parameters<typeof SamlLib.verifySignature>[1]["metadata"]>;

/**
 * Verifies every signature of a response with the provider's own keys and returns the assertion as signed: parsed again from
 * the digested bytes, so that nothing else can be read as signed.
 * @param certificates base64 of the DER
 * @throws SsoRefusal signature, algorithm, malformed
 * Design: §11
 */
export function readSigned(document: ResponseDocument, certificates: readonly string[]): Element {
	document.signatures.forEach(checkForm);
	const texts = document.signatures.map((signature) => verifyWithAny(document, signature, certificates));
	const assertion = parse(texts[0] ?? "");
	const isOurs = is(assertion, "assertion", "Assertion");
	if (!isOurs || attribute(assertion, "ID") !== attribute(document.assertion, "ID")) throw new SsoRefusal("signature");
	return assertion;
}

/** Refuses every signature but the plainest: it signs its whole parent, with methods known to be strong. */
function checkForm(signature: Element): void {
	const [signedInfo] =
		childrenOf(signature).length === 3
			? parts(signature, ["SignedInfo", "SignatureValue", "KeyInfo"])
			: parts(signature, ["SignedInfo", "SignatureValue"]);
	const [canonicalization, method, reference] = parts(signedInfo, [
		"CanonicalizationMethod",
		"SignatureMethod",
		"Reference",
	]);
	checkAlgorithm(canonicalization, [NS.exclusive]);
	checkAlgorithm(method, SIGNATURE_METHODS);
	const [transforms, digest] = parts(reference, ["Transforms", "DigestMethod", "DigestValue"]);
	checkAlgorithm(digest, DIGEST_METHODS);
	const [enveloped, exclusive] = parts(transforms, ["Transform", "Transform"], "algorithm");
	checkAlgorithm(enveloped, [ENVELOPED]);
	checkAlgorithm(exclusive, [NS.exclusive]);
	const id = attribute(signature.parentNode as Element, "ID");
	if (attribute(reference, "URI") !== `#${id}`) throw new SsoRefusal("signature");
}

/** Returns an element's children, which must be exactly these. */
function parts<const Names extends readonly string[]>(
	element: Element,
	names: Names,
	reason: "malformed" | "algorithm" = "malformed",
): { [Name in keyof Names]: Element } {
	const children = childrenOf(element);
	const isExact = children.length === names.length && names.every((name, at) => is(children[at], "signature", name));
	if (!isExact) throw new SsoRefusal(reason);
	return children as { [Name in keyof Names]: Element };
}

/** Checks an algorithm. Exclusive canonicalization may have a list of prefixes; nothing else has a parameter. */
function checkAlgorithm(element: Element, allowed: readonly string[]): void {
	const name = attribute(element, "Algorithm") ?? "";
	const parameters = childrenOf(element);
	const isPlain = parameters.length === 0;
	const isPrefixes =
		name === NS.exclusive && parameters.length === named(element, "exclusive", "InclusiveNamespaces").length;
	if (!allowed.includes(name) || !(isPlain || isPrefixes)) throw new SsoRefusal("algorithm");
}

function verifyWithAny(document: ResponseDocument, signature: Element, certificates: readonly string[]): string {
	const text = isolate(document, signature);
	for (const certificate of certificates) {
		const assertion = verify(text, certificate);
		if (assertion !== undefined) return assertion;
	}
	throw new SsoRefusal("signature");
}

/**
 * Makes this signature the first of the response, and removes the key that it brings along: only our keys count.
 * Neither changes the signed text.
 */
function isolate(document: ResponseDocument, signature: Element): string {
	const response = parse(document.text);
	const isOfResponse = signature.parentNode === document.response;
	const parent = isOfResponse ? response : only(response, "assertion", "Assertion");
	if (!isOfResponse) for (const other of named(response, "signature", "Signature")) response.removeChild(other);
	const own = only(parent, "signature", "Signature");
	for (const key of named(own, "signature", "KeyInfo")) own.removeChild(key);
	return response.toString();
}

/** Returns the assertion that the first signature covers; undefined when the certificate does not match. */
function verify(text: string, certificate: string): string | undefined {
	let asked = 0;
	const getX509Certificate = () => {
		// samlify continues with the next signature when the first one does not match, and asks again. Without our answer it would use the
		// key that the signature brings along.
		if (asked++ > 0) throw new SsoRefusal("signature");
		return [certificate];
	};
	try {
		const metadata = { getX509Certificate } as Pick<Metadata, "getX509Certificate"> as Metadata;
		const [isVerified, assertion] = SamlLib.verifySignature(text, { metadata });
		return isVerified && assertion !== null ? assertion : undefined;
	} catch {
		return undefined;
	}
}
