import { SsoRefusal } from "../model.ts";
import { NS } from "./namespaces.ts";
import { allOf, attribute, childrenOf, is, type Namespace, only, parse } from "./xml.ts";

/** A response in the one form that we accept. Its author is still unknown. */
export interface ResponseDocument {
	text: string;
	response: Element;
	assertion: Element;
	/** Its one or two signatures. Each is a child of the element that it claims to sign. */
	signatures: Element[];
}

/** The ASCII characters that XML allows in an identifier. */
const ID = /^[A-Za-z_][\w.-]{0,255}$/;

/** The permitted parts of a response. No login needs extensions. */
const PARTS: readonly [namespace: Namespace, name: string][] = [
	["assertion", "Issuer"],
	["signature", "Signature"],
	["protocol", "Status"],
	["assertion", "Assertion"],
];

/**
 * Parses a response and refuses every form but one: a Response with one Assertion as its child and none elsewhere, signatures that are
 * children of these two, and identifiers that name one element each. A wrapper around a signed assertion does not have this form.
 * @param text as `decodeStrictXml` gives it
 * @throws SsoRefusal malformed, signature when nothing is signed
 * Design: §11 (the gate on the parsed document)
 */
export function readDocument(text: string): ResponseDocument {
	const response = parse(text);
	if (!is(response, "protocol", "Response")) throw new SsoRefusal("malformed");
	const elements = allOf(response);
	checkNames(response, elements);
	checkIdentifiers(elements);
	const assertion = only(response, "assertion", "Assertion");
	for (const element of [response, assertion]) {
		if (!ID.test(attribute(element, "ID") ?? "")) malformed();
	}
	return { text, response, assertion, signatures: findSignatures(response, assertion, elements) };
}

/** Checks bare names: a lookalike in another namespace is as suspicious as a second element of ours. */
function checkNames(response: Element, elements: Element[]): void {
	const count = (name: string) => elements.filter((element) => element.localName === name).length;
	if (count("Response") !== 1 || count("Assertion") !== 1 || count("EncryptedAssertion") !== 0) malformed();
	const known = (child: Element) => PARTS.some(([namespace, name]) => is(child, namespace, name));
	if (!childrenOf(response).every(known)) malformed();
	// The parser accepts a prefix that stands for nothing.
	const isBound = ({ prefix, namespaceURI }: Element | Attr) => !prefix || Boolean(namespaceURI);
	if (!elements.every((element) => isBound(element) && Array.from(element.attributes).every(isBound))) malformed();
}

/** Checks that an element has at most one identifier, however spelled (ID, Id, id, xml:id), and that no two are the same. */
function checkIdentifiers(elements: Element[]): void {
	const seen = new Set<string>();
	for (const element of elements) {
		const own = Array.from(element.attributes).filter(
			({ name }) => /^(?:.*:)?id$/i.test(name) && !/^xmlns:/.test(name),
		);
		if (own.length > 1) malformed();
		for (const { value } of own) {
			if (value === "" || seen.has(value)) malformed();
			seen.add(value);
		}
	}
}

function findSignatures(response: Element, assertion: Element, elements: Element[]): Element[] {
	const signatures = elements.filter(({ localName }) => localName === "Signature");
	if (signatures.length === 0) throw new SsoRefusal("signature");
	const parents = signatures.map(({ parentNode }) => parentNode);
	const isPlaced = parents.every((parent) => parent === response || parent === assertion);
	const isOurs = signatures.every(({ namespaceURI }) => namespaceURI === NS.signature);
	if (!isPlaced || !isOurs || new Set(parents).size !== parents.length) malformed();
	return signatures;
}

function malformed(): never {
	throw new SsoRefusal("malformed");
}
