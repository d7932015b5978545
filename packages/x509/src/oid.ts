import { objectId } from "./der.ts";

/** The extensions that certificates here contain or obey, as encoded identifiers (RFC 5280 §4.2.1). */
export const EXTENSION = {
	subjectKeyIdentifier: objectId("2.5.29.14"),
	keyUsage: objectId("2.5.29.15"),
	subjectAlternativeName: objectId("2.5.29.17"),
	basicConstraints: objectId("2.5.29.19"),
	nameConstraints: objectId("2.5.29.30"),
	authorityKeyIdentifier: objectId("2.5.29.35"),
	extendedKeyUsage: objectId("2.5.29.37"),
} as const;

/** Attributes of a subject, as encoded identifiers (RFC 5280 §4.1.2.6). */
export const ATTRIBUTE = {
	commonName: objectId("2.5.4.3"),
	organization: objectId("2.5.4.10"),
	emailAddress: objectId("1.2.840.113549.1.9.1"),
} as const;
