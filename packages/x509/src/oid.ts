import { objectId } from "./der.ts";

/** The extensions that certificates here are made of, as encoded identifiers (RFC 5280 §4.2.1). */
export const EXTENSION = {
	subjectKeyIdentifier: objectId("2.5.29.14"),
	keyUsage: objectId("2.5.29.15"),
	subjectAlternativeName: objectId("2.5.29.17"),
	basicConstraints: objectId("2.5.29.19"),
	authorityKeyIdentifier: objectId("2.5.29.35"),
	extendedKeyUsage: objectId("2.5.29.37"),
} as const;
