/*
 * The parts of a certificate that node:crypto does not show, read from bytes that OpenSSL has already parsed.
 * pkijs reads them too, in 0.5 ms and after 40 ms of loading; this takes 0.01 ms.
 */
import { type Element, readElements, readItems, required } from "./der-reader.ts";
import { EXTENSION } from "./oid.ts";

/** The parts of a certificate read here. */
export interface CertificateFields {
	/** 1, 2 or 3. */
	version: number;
	/** The encoded subject, byte for byte. */
	subject: Buffer;
	extensions: readonly Extension[];
}

/** One extension of a certificate. */
export interface Extension {
	/** The encoded identifier. */
	id: Buffer;
	/** True if a verifier must understand it or else refuse the certificate. */
	isCritical: boolean;
	/** The content, in DER. */
	value: Buffer;
}

/** The first four matter to the peers of the holder; none of them makes a certificate invalid. */
const UNDERSTOOD = [
	EXTENSION.keyUsage,
	EXTENSION.subjectAlternativeName,
	EXTENSION.basicConstraints,
	EXTENSION.extendedKeyUsage,
	EXTENSION.nameConstraints,
];
const TAG = { boolean: 0x01, version: 0xa0, extensions: 0xa3 } as const;

/**
 * Reads a certificate; verify its signature first if it comes from outside.
 * @param der the whole certificate, as in `X509Certificate.raw`
 * @throws Error when it is not DER, or ends too soon
 */
export function readFields(der: Buffer): CertificateFields {
	const parts = readElements(required(readItems(der)[0]).content);
	const version = parts[0]?.tag === TAG.version ? parts.shift() : undefined;
	const extensions = parts.find((part) => part.tag === TAG.extensions);
	return {
		// Encoded as one less; a certificate of version 1 omits it.
		version: version === undefined ? 1 : 1 + (required(readElements(version.content)[0]).content.at(-1) ?? 0),
		// serial, algorithm, issuer, validity, subject, public key
		subject: required(parts[4]).bytes,
		extensions: extensions === undefined ? [] : readItems(extensions.content).map(readExtension),
	};
}

/** Finds an extension of a certificate; undefined when there is none with that identifier. */
export function findExtension(fields: CertificateFields, id: Buffer): Extension | undefined {
	return fields.extensions.find((extension) => extension.id.equals(id));
}

/** Returns the value of an extension; empty when there is none with that identifier. */
export function extensionValue(fields: CertificateFields, id: Buffer): Buffer {
	return findExtension(fields, id)?.value ?? Buffer.alloc(0);
}

/** Tells whether a critical extension is unknown here; such a certificate must be refused. */
export function hasUnknownCriticalExtension({ extensions }: CertificateFields): boolean {
	return extensions.some(({ id, isCritical }) => isCritical && !UNDERSTOOD.some((known) => known.equals(id)));
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
