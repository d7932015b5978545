import { type Asserted, SsoRefusal } from "../model.ts";
import { atMostOne, attribute, named, only, textOf } from "./xml.ts";

const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** Characters of a NameID. SAML allows 256 of a persistent one. */
const MAX_SUBJECT = 1024;

/** Names of the attributes that describe a person, as the provider's settings have them. */
export interface AttributeNames {
	email: string | undefined;
	name: string | undefined;
	groups: string | undefined;
}

/**
 * Who a signed assertion is about.
 * @throws SsoRefusal subject, malformed
 * Design: §11
 */
export function readPerson(assertion: Element, names: AttributeNames): Omit<Asserted, "issuer"> {
	const nameId = nameIdOf(assertion);
	const subject = textOf(nameId);
	const attributes = attributesOf(assertion);
	return {
		subject,
		email: names.email === undefined ? emailOf(nameId, subject) : valueNamed(attributes, names.email),
		// No provider says in so many words whose an address is.
		email_verified: false,
		name: names.name === undefined ? undefined : valueNamed(attributes, names.name),
		groups: names.groups === undefined ? [] : valuesNamed(attributes, names.groups),
	};
}

/** A transient name is another one at every login: nobody could be recognized by it. */
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

/** A persistent name is an opaque one, whatever it looks like. */
function emailOf(nameId: Element, subject: string): string | undefined {
	return attribute(nameId, "Format") !== PERSISTENT && subject.includes("@") ? subject : undefined;
}

function attributesOf(assertion: Element): Element[] {
	const statement = atMostOne(assertion, "assertion", "AttributeStatement");
	return statement === undefined ? [] : named(statement, "assertion", "Attribute");
}

/** All values of an attribute that are not empty. It may be absent, and not be there twice. */
function valuesNamed(attributes: Element[], name: string): string[] {
	const found = attributes.filter((element) => attribute(element, "Name") === name);
	if (found.length > 1) throw new SsoRefusal("malformed");
	const values = found.flatMap((element) => named(element, "assertion", "AttributeValue")).map(textOf);
	return values.filter((value) => value !== "");
}

/** The value of an attribute that has one. Whether an address may be missing is for those to say who need it. */
function valueNamed(attributes: Element[], name: string): string | undefined {
	const values = valuesNamed(attributes, name);
	if (values.length > 1) throw new SsoRefusal("malformed");
	return values[0];
}
