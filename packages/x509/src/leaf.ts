/*
 * The writer of end-entity certificates (RFC 5280 §4.1). Loading this file encodes the parts that never change, making a signer
 * those that all of its certificates share; the rest is a few hundred bytes per certificate.
 *
 *   SEQUENCE { tbs: SEQUENCE { version, serial, algorithm, issuer, validity, subject, public key, extensions }, algorithm, signature }
 */
import { type KeyObject, sign } from "node:crypto";
import {
	BOOLEAN_TRUE,
	bitString,
	explicit,
	implicit,
	objectId,
	octetString,
	sequence,
	time,
	unsignedInteger,
} from "./der.ts";
import { type KeyPair, keyIdentifier } from "./key-pair.ts";
import { EXTENSION } from "./oid.ts";
import { encodePem } from "./pem.ts";

/** Permitted use of a certificate: the server's or the client's end of a TLS connection. */
export type ExtendedKeyUsage = "server" | "client";

/** A private key with the constant parts of its certificates, already encoded. */
export interface Signer {
	privateKey: KeyObject;
	hash: SignatureHash;
	algorithm: Buffer;
	issuer: Buffer;
	authorityKeyIdentifier: Buffer;
}

/** The part of a certificate that differs from the previous one; names and serial are already encoded. */
export interface Leaf {
	serial: Buffer;
	subject: Buffer;
	/** Empty when the certificate has no alternative names. */
	alternativeNames: Buffer;
	extendedKeyUsage: readonly ExtendedKeyUsage[];
	notBefore: Date;
	notAfter: Date;
	keyPair: KeyPair;
}

/** The hash that matches a curve: the widest that fits the curve's order. */
export type SignatureHash = "sha256" | "sha384" | "sha512";

const SIGNATURE_ALGORITHM: Record<SignatureHash, Buffer> = {
	sha256: sequence(objectId("1.2.840.10045.4.3.2")),
	sha384: sequence(objectId("1.2.840.10045.4.3.3")),
	sha512: sequence(objectId("1.2.840.10045.4.3.4")),
};
/** Version 3 is encoded as 2. */
export const VERSION_3 = explicit(0, unsignedInteger(Uint8Array.of(2)));
const P256_KEY = sequence(objectId("1.2.840.10045.2.1"), objectId("1.2.840.10045.3.1.7"));
const USAGE: Record<ExtendedKeyUsage, Buffer> = {
	server: objectId("1.3.6.1.5.5.7.3.1"),
	client: objectId("1.3.6.1.5.5.7.3.2"),
};

/** digitalSignature is bit 0, keyEncipherment bit 2, and five bits of the byte are unused. */
const SIGNATURE_AND_ENCIPHERMENT = criticalExtension(EXTENSION.keyUsage, bitString(Uint8Array.of(0b1010_0000), 5));
/** An empty sequence: not a certificate authority. */
export const NOT_AN_AUTHORITY = criticalExtension(EXTENSION.basicConstraints, sequence());

/**
 * Prepares a key for signing.
 * @param issuer the encoded subject of the signer's certificate
 * @param keyId the subject key identifier of the signer's certificate, empty when it has none
 */
export function createSigner(privateKey: KeyObject, hash: SignatureHash, issuer: Buffer, keyId: Buffer): Signer {
	const algorithm = SIGNATURE_ALGORITHM[hash];
	const authorityKeyIdentifier =
		keyId.length === 0 ? keyId : extension(EXTENSION.authorityKeyIdentifier, sequence(implicit(0, keyId)));
	return { privateKey, hash, algorithm, issuer, authorityKeyIdentifier };
}

/** Signs an end-entity certificate and returns it as PEM. */
export function signLeaf(signer: Signer, leaf: Leaf): string {
	const toBeSigned = sequence(
		VERSION_3,
		leaf.serial,
		signer.algorithm,
		signer.issuer,
		sequence(time(leaf.notBefore), time(leaf.notAfter)),
		leaf.subject,
		sequence(P256_KEY, bitString(leaf.keyPair.point)),
		explicit(3, encodeExtensions(signer, leaf)),
	);
	const signature = sign(signer.hash, toBeSigned, signer.privateKey);
	return encodePem("CERTIFICATE", sequence(toBeSigned, signer.algorithm, bitString(signature)));
}

function encodeExtensions(signer: Signer, leaf: Leaf): Buffer {
	const usages = leaf.extendedKeyUsage.map((usage) => USAGE[usage]);
	return sequence(
		SIGNATURE_AND_ENCIPHERMENT,
		extension(EXTENSION.extendedKeyUsage, sequence(...usages)),
		NOT_AN_AUTHORITY,
		extension(EXTENSION.subjectKeyIdentifier, octetString(keyIdentifier(leaf.keyPair.point))),
		signer.authorityKeyIdentifier,
		leaf.alternativeNames.length === 0
			? leaf.alternativeNames
			: extension(EXTENSION.subjectAlternativeName, leaf.alternativeNames),
	);
}

function extension(id: Buffer, value: Buffer): Buffer {
	return sequence(id, octetString(value));
}

/** Encodes an extension that a reader must understand. */
export function criticalExtension(id: Buffer, value: Buffer): Buffer {
	return sequence(id, BOOLEAN_TRUE, octetString(value));
}
