import { readItems } from "./der-reader.ts";

/** A name as in certificates and name constraints (GeneralName, RFC 5280 §4.2.1.6). */
export interface GeneralName {
	/** The number of the choice. */
	kind: number;
	content: Buffer;
}

/** The choices distinguished here; all others are names of an unknown kind. */
export const NAME_KIND = { email: 1, dns: 2, directory: 4, address: 7 } as const;

const CLASS_BITS = 0xc0;
const CONTEXT_CLASS = 0x80;
const NUMBER_BITS = 0x1f;

/**
 * Reads a list of names (GeneralNames).
 * @param der the SEQUENCE; no names when it is empty
 * @throws Error when it is not DER, or contains anything but names
 */
export function readGeneralNames(der: Buffer): GeneralName[] {
	return der.length === 0 ? [] : readItems(der).map(toGeneralName);
}

/** @throws Error when the element is none of the choices */
export function toGeneralName({ tag, content }: { tag: number; content: Buffer }): GeneralName {
	if ((tag & CLASS_BITS) !== CONTEXT_CLASS) {
		throw new Error("not a general name");
	}
	return { kind: tag & NUMBER_BITS, content };
}
