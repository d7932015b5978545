/*
 * The parts of a certificate that node:crypto does not show, read from the bytes that OpenSSL has already parsed.
 * pkijs reads them too, in 0.5 ms and for 40 ms of loading; this takes 0.01 ms. Definite lengths only, as DER demands.
 */
import { EXTENSION } from "./oid.ts";

/** What is read of a certificate. */
export interface CertificateFields {
	/** The encoded subject, byte for byte. */
	subject: Buffer;
	/** Empty when the certificate has none. */
	subjectKeyIdentifier: Buffer;
	/** Encoded identifiers of the extensions that a verifier must understand or else refuse the certificate. */
	criticalExtensions: Buffer[];
}

interface Element {
	tag: number;
	content: Buffer;
	/** Tag, length and content. */
	bytes: Buffer;
}

interface Extension {
	id: Buffer;
	isCritical: boolean;
	value: Buffer;
}

const TAG = { boolean: 0x01, version: 0xa0, extensions: 0xa3 } as const;
const MAX_LENGTH_BYTES = 3;

/**
 * Reads a certificate; verify its signature first when it comes from outside.
 * @param der the whole certificate, as `X509Certificate.raw` has it
 * @throws Error when it is not DER, or ends too soon
 */
export function readFields(der: Buffer): CertificateFields {
	const [toBeSigned] = readElements(firstElement(der).content);
	const parts = readElements(required(toBeSigned).content).filter((part) => part.tag !== TAG.version);
	// serial, algorithm, issuer, validity, subject, public key
	const subject = required(parts[4]).bytes;
	const wrapper = parts.find((part) => part.tag === TAG.extensions);
	const extensions =
		wrapper === undefined ? [] : readElements(firstElement(wrapper.content).content).map(readExtension);
	return {
		subject,
		subjectKeyIdentifier: readSubjectKeyIdentifier(extensions),
		criticalExtensions: extensions.filter((extension) => extension.isCritical).map((extension) => extension.id),
	};
}

function readExtension(element: Element): Extension {
	const parts = readElements(element.content);
	const [id, critical] = parts;
	return {
		id: required(id).bytes,
		isCritical: critical?.tag === TAG.boolean && critical.content[0] !== 0,
		value: required(parts.at(-1)).content,
	};
}

function readSubjectKeyIdentifier(extensions: readonly Extension[]): Buffer {
	const found = extensions.find((extension) => extension.id.equals(EXTENSION.subjectKeyIdentifier));
	return found === undefined ? Buffer.alloc(0) : firstElement(found.value).content;
}

function readElements(bytes: Buffer): Element[] {
	const elements: Element[] = [];
	for (let offset = 0; offset < bytes.length; ) {
		const element = readElement(bytes.subarray(offset));
		elements.push(element);
		offset += element.bytes.length;
	}
	return elements;
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

function firstElement(bytes: Buffer): Element {
	return required(readElements(bytes)[0]);
}

function required(element: Element | undefined): Element {
	if (element === undefined) {
		throw new Error("not DER: an element is missing");
	}
	return element;
}
