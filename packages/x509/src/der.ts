/*
 * A writer of DER (ITU-T X.690): every function returns one complete element, tag, length and content.
 * It writes only what a certificate needs.
 */

const FIRST_CONTEXT_TAG = 0x80;
const CONSTRUCTED = 0x20;

/** Any element: the tag byte, then the length, then `contents` one after the other. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
	const length = contents.reduce((sum, content) => sum + content.length, 0);
	return Buffer.concat([header(tag, length), ...contents]);
}

function header(tag: number, length: number): Buffer {
	if (length < 0x80) {
		return Buffer.from([tag, length]);
	}
	if (length < 0x100) {
		return Buffer.from([tag, 0x81, length]);
	}
	if (length < 0x10000) {
		return Buffer.from([tag, 0x82, length >> 8, length & 0xff]);
	}
	throw new RangeError("a DER element holds at most 65535 bytes here");
}

/** SEQUENCE of `items`. */
export function sequence(...items: readonly Uint8Array[]): Buffer {
	return element(0x30, ...items);
}

/** SET of one item; DER sorts the items of a larger one, which a certificate does not need. */
export function setOf(item: Uint8Array): Buffer {
	return element(0x31, item);
}

/** BOOLEAN true; false is the default wherever a certificate has one, and DER omits defaults. */
export const BOOLEAN_TRUE = element(0x01, Uint8Array.of(0xff));

/** INTEGER from unsigned big-endian bytes: as short as DER demands, and positive even when the top bit is set. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
	const first = bytes.findIndex((byte) => byte !== 0);
	const magnitude = first === -1 ? Uint8Array.of(0) : bytes.subarray(first);
	const isNegativeLooking = (magnitude[0] ?? 0) >= 0x80;
	return element(0x02, isNegativeLooking ? Uint8Array.of(0) : Uint8Array.of(), magnitude);
}

/** BIT STRING; `unusedBits` counts the padding bits at the end of the last byte. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
	return element(0x03, Uint8Array.of(unusedBits), bytes);
}

/** OCTET STRING. */
export function octetString(bytes: Uint8Array): Buffer {
	return element(0x04, bytes);
}

/** UTF8String. */
export function utf8String(text: string): Buffer {
	return element(0x0c, Buffer.from(text, "utf8"));
}

/** OBJECT IDENTIFIER from its dotted form, such as "2.5.4.3". */
export function objectId(dotted: string): Buffer {
	const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
	return element(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(arc: number): number[] {
	const digits = [arc % 128];
	for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
		digits.unshift(0x80 + (rest % 128));
	}
	return digits;
}

/** Time to the second: UTCTime for the years 1950 to 2049, GeneralizedTime for all others (RFC 5280 §4.1.2.5). */
export function time(instant: Date): Buffer {
	const year = instant.getUTCFullYear();
	const digits = `${instant.toISOString().slice(0, 19).replaceAll(/\D/g, "")}Z`;
	const isShort = year >= 1950 && year <= 2049;
	return isShort ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

/** Context-specific element number `tag` around a raw value (IMPLICIT). */
export function implicit(tag: number, value: Uint8Array): Buffer {
	return element(FIRST_CONTEXT_TAG + tag, value);
}

/** Context-specific element number `tag` around a complete element (EXPLICIT). */
export function explicit(tag: number, item: Uint8Array): Buffer {
	return element(FIRST_CONTEXT_TAG + CONSTRUCTED + tag, item);
}
