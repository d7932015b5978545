import { X509Certificate } from "node:crypto";
import {
	type CertificateFields,
	findExtension,
	hasUnknownCriticalExtension,
	readFields,
} from "./certificate-fields.ts";
import { readItems } from "./der-reader.ts";
import { type NameConstraints, readNameConstraints } from "./name-constraints.ts";
import { EXTENSION } from "./oid.ts";
import { decodePem, encodePem } from "./pem.ts";

/** The certificate of an authority, against which others are verified. */
export interface Root {
	/** PEM. */
	certificate: string;
	parsed: X509Certificate;
	fields: CertificateFields;
	notBefore: Date;
	notAfter: Date;
	/** The names that its certificates may have; undefined when they may have any. */
	nameConstraints: NameConstraints | undefined;
}

/**
 * Checks the certificate of an authority; its key usage and its basic constraints must let it sign certificates.
 * @param pem one block; an expired certificate is read like any other
 * @throws Error naming the fault; nothing of its content
 * Spec: ENGINES › Certificate authority engine
 */
export function readRoot(pem: string): Root {
	const parsed = parseCertificate(pem);
	// OpenSSL checks the basic constraints and the key usage for this.
	if (!parsed.ca) {
		throw new Error("CA certificate must be one of a certificate authority that may sign certificates");
	}
	const fields = readFields(parsed.raw);
	if (readItems(fields.subject).length === 0) {
		throw new Error("CA certificate must have a subject, by which its certificates name it");
	}
	if (hasUnknownCriticalExtension(fields)) {
		throw new Error("CA certificate has a critical extension that is not understood");
	}
	return {
		certificate: encodePem("CERTIFICATE", parsed.raw),
		parsed,
		fields,
		notBefore: parsed.validFromDate,
		notAfter: parsed.validToDate,
		nameConstraints: readConstraints(fields),
	};
}

function parseCertificate(pem: string): X509Certificate {
	const block = decodePem(pem);
	if (block?.label !== "CERTIFICATE") {
		throw new Error("CA certificate must be one PEM block of type CERTIFICATE");
	}
	try {
		return new X509Certificate(block.der);
	} catch (cause) {
		throw new Error("CA certificate cannot be parsed", { cause });
	}
}

function readConstraints(fields: CertificateFields): NameConstraints | undefined {
	const found = findExtension(fields, EXTENSION.nameConstraints);
	try {
		return found && readNameConstraints(found.value);
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : "unknown failure";
		throw new Error(`CA certificate has name constraints that cannot be applied: ${reason}`, { cause });
	}
}
