import { type Asserted, SsoRefusal } from "../model.ts";
import { atMostOne, attribute, named, only, textOf } from "./xml.ts";

const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** Characters of a NameID. SAML allows 256 in a persistent one. */
const MAX_SUBJECT = 1024;

/** Names of the attributes that describe the subject, from the provider's settings. */
export interface AttributeNames {
	email: string | undefined;
	name: string | undefined;
	groups: string | undefined;
}

/**
 * Reads the subject of a signed assertion and the attributes that describe it.
 * @throws SsoRefusal subject, malformed
 * Design: §11
 */
export function readSubject(assertion: Element, names: AttributeNames): Omit<Asserted, "issuer"> {
	const nameId = nameIdOf(assertion);
	const subject = textOf(nameId);
	const attributes = attributesOf(assertion);
	return {
		subject,
		email: names.email === undefined ? emailOf(nameId, subject) : valueNamed(attributes, names.email),
		// No provider says explicitly whose an address is.
		email_verified: false,
		name: names.name === undefined ? undefined : valueNamed(attributes, names.name),
		groups: names.groups === undefined ? [] : valuesNamed(attributes, names.groups),
	};
}

/** Reads the NameID. A transient name changes at every login: nobody could be recognized by it. */
function nameIdOf(assertion: Element): Element {
	const subject = only(assertion, "assertion", "Subject");
	const found = named(subject, "assertion", "NameID");
	const [nameId] = found;
	if (nameId === undefined || found.length > 1) throw new SsoRefusal("subject");
	const text = textOf(nameId);
	const isTransient = attribute(nameId, "Format") === TRANSIENT;
	if (isTransient || text.trim() === "" || text.length > MAX_SUBJECT) throw new SsoRefusal("subject");
	return nameId;
}

/** Reads the e-mail from a NameID. A persistent name is opaque, even if it looks like an address. */
function emailOf(nameId: Element, subject: string): string | undefined {
	return attribute(nameId, "Format") !== PERSISTENT && subject.includes("@") ? subject : undefined;
}

function attributesOf(assertion: Element): Element[] {
	const statement = atMostOne(assertion, "assertion", "AttributeStatement");
	return statement === undefined ? [] : named(statement, "assertion", "Attribute");
}

/** Reads the non-empty values of an attribute. It may be absent, but not appear twice. */
function valuesNamed(attributes: Element[], name: string): string[] {
	const found = attributes.filter((element) => attribute(element, "Name") === name);
	if (found.length > 1) throw new SsoRefusal("malformed");
	const values = found.flatMap((element) => named(element, "assertion", "AttributeValue")).map(textOf);
	return values.filter((value) => value !== "");
}

/** Reads the value of a single-valued attribute. The caller decides whether an address may be missing. */
function valueNamed(attributes: Element[], name: string): string | undefined {
	const values = valuesNamed(attributes, name);
	if (values.length > 1) throw new SsoRefusal("malformed");
	return values[0];
}
