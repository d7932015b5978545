/* A reader of DER (ITU-T X.690) for certificates that OpenSSL has already parsed; definite lengths only, as DER demands. */

/** One element of DER. */
export interface Element {
	tag: number;
	content: Buffer;
	/** Tag, length and content. */
	bytes: Buffer;
}

const MAX_LENGTH_BYTES = 3;

/**
 * Reads consecutive elements.
 * @throws Error when the bytes are not DER, or end too soon
 */
export function readElements(bytes: Buffer): Element[] {
	const elements: Element[] = [];
	for (let offset = 0; offset < bytes.length; ) {
		const element = readElement(bytes.subarray(offset));
		elements.push(element);
		offset += element.bytes.length;
	}
	return elements;
}

/**
 * Reads the content of the first element: a SEQUENCE, a SET, or a tag around them.
 * @throws Error as `readElements` does, or when there is no element
 */
export function readItems(bytes: Buffer): Element[] {
	return readElements(required(readElements(bytes)[0]).content);
}

/** @throws Error when there is no such element */
export function required(element: Element | undefined): Element {
	if (element === undefined) {
		throw new Error("not DER: an element is missing");
	}
	return element;
}

function readElement(bytes: Buffer): Element {
	const tag = bytes.readUInt8(0);
	const first = bytes.readUInt8(1);
	const lengthBytes = first < 0x80 ? 0 : first - 0x80;
	if (lengthBytes > MAX_LENGTH_BYTES || first === 0x80) {
		throw new Error("not DER: an indefinite or too large length");
	}
	const start = 2 + lengthBytes;
	const end = start + (lengthBytes === 0 ? first : bytes.readUIntBE(2, lengthBytes));
	if (end > bytes.length) {
		throw new Error("not DER: an element is longer than what holds it");
	}
	return { tag, content: bytes.subarray(start, end), bytes: bytes.subarray(0, end) };
}
