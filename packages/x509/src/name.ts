import { sequence, setOf, utf8String } from "./der.ts";
import { ATTRIBUTE } from "./oid.ts";

/** The parts of a subject; both have at most 64 characters (RFC 5280 appendix A.1). */
export interface Name {
	common_name: string;
	/** Omitted from the subject when empty. */
	organization: string;
}

const MAX_CHARACTERS = 64;
/** Control characters, including NUL, and halves of a surrogate pair: they mislead the readers of a printed name. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * Encodes a distinguished name: organization, then common name, each in its own set.
 * @throws Error when a part is too long or has control characters, or the common name is missing
 * Spec: Engines › pki operations
 */
export function encodeName(name: Name): Buffer {
	if (name.common_name === "") {
		throw new Error("common_name is required");
	}
	const commonName = encodeAttribute("common_name", ATTRIBUTE.commonName, name.common_name);
	return name.organization === ""
		? sequence(commonName)
		: sequence(encodeAttribute("organization", ATTRIBUTE.organization, name.organization), commonName);
}

/** Tells why a text cannot appear in a subject, as the end of a sentence; undefined when it can. */
export function faultOfName(text: string): string | undefined {
	if (UNPRINTABLE.test(text)) return "must not contain control characters";
	if ([...text].length > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters`;
	return undefined;
}

function encodeAttribute(field: keyof Name, type: Buffer, value: string): Buffer {
	const fault = faultOfName(value);
	if (fault !== undefined) throw new Error(`${field} ${fault}`);
	return setOf(sequence(type, utf8String(value)));
}
