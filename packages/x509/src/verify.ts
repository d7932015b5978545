import { X509Certificate } from "node:crypto";
import { readFields } from "./certificate-fields.ts";
import { EXTENSION } from "./oid.ts";
import { decodePem } from "./pem.ts";
import { serialHex } from "./serial.ts";
import { rfc3339 } from "./validity.ts";

/** Whether a certificate holds, and what it says or why it does not. */
export type Verification =
	| {
			valid: true;
			/** Empty when the certificate has none. */
			common_name: string;
			/** Lower-case hexadecimal, at least 32 digits. */
			serial: string;
			/** RFC 3339, UTC. */
			expires_at: string;
	  }
	| { valid: false; message: string };

/** What is wrong with a certificate, in words that may be shown. */
class Refusal extends Error {}

/** ECDSA with SHA-256, SHA-384 and SHA-512. */
const SIGNATURE_ALGORITHMS = new Set(["1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4"]);
/** What these demand concerns whoever connects to the holder; none of them makes a certificate untrue. */
const UNDERSTOOD_EXTENSIONS = [
	EXTENSION.keyUsage,
	EXTENSION.subjectAlternativeName,
	EXTENSION.basicConstraints,
	EXTENSION.extendedKeyUsage,
];

/**
 * Says whether the authority signed a certificate and both are within their dates. Takes any text, never throws, and its
 * messages hold nothing of the text: `invalid PEM data`, `parse error: <detail>`, or what the verification found.
 * @param pem the certificate, one PEM block of at most 65,536 characters
 * @param authorityPem the certificate of the authority, the only root
 * Spec: Engines › pki operations
 */
export function verifyCertificate(pem: string, authorityPem: string, now: Date): Verification {
	try {
		const certificate = parseCertificate(pem);
		const authority = parseAuthority(authorityPem);
		refuseUnsigned(certificate, authority);
		refuseOutOfDate("CA certificate", authority, now);
		refuseOutOfDate("certificate", certificate, now);
		refuseUnknownDemands(certificate);
		return {
			valid: true,
			common_name: readCommonName(certificate),
			serial: serialHex(certificate),
			expires_at: rfc3339(certificate.validToDate),
		};
	} catch (error) {
		return { valid: false, message: error instanceof Refusal ? error.message : "certificate cannot be verified" };
	}
}

function parseCertificate(pem: string): X509Certificate {
	const block = typeof pem === "string" ? decodePem(pem) : undefined;
	if (block === undefined) {
		throw new Refusal("invalid PEM data");
	}
	if (block.label !== "CERTIFICATE") {
		throw new Refusal("parse error: the PEM block is not a certificate");
	}
	const certificate = parseDer(block.der);
	// OpenSSL stops at the end of the certificate, and finds one written as PEM inside other bytes.
	if (!certificate.raw.equals(block.der)) {
		throw new Refusal("parse error: the PEM block holds more than a certificate");
	}
	if (!/^0*[1-9A-F]/.test(certificate.serialNumber)) {
		throw new Refusal("parse error: the serial number is not positive");
	}
	return certificate;
}

function parseDer(der: Buffer): X509Certificate {
	try {
		return new X509Certificate(der);
	} catch (error) {
		// OpenSSL's reasons are fixed phrases, such as "wrong tag" or "too long".
		const reason = error instanceof Error && "reason" in error ? String(error.reason) : "not a certificate";
		throw new Refusal(`parse error: ${reason}`);
	}
}

function parseAuthority(pem: string): X509Certificate {
	try {
		return new X509Certificate(pem);
	} catch {
		throw new Refusal("CA certificate cannot be parsed");
	}
}

function refuseUnsigned(certificate: X509Certificate, authority: X509Certificate): void {
	if (!certificate.checkIssued(authority)) {
		throw new Refusal("certificate was not issued by this CA");
	}
	if (!SIGNATURE_ALGORITHMS.has(certificate.signatureAlgorithmOid)) {
		throw new Refusal("certificate is not signed with ECDSA and SHA-2");
	}
	if (!certificate.verify(authority.publicKey)) {
		throw new Refusal("certificate signature does not match this CA");
	}
}

function refuseOutOfDate(what: string, certificate: X509Certificate, now: Date): void {
	if (!(now >= certificate.validFromDate)) {
		throw new Refusal(`${what} is not yet valid`);
	}
	if (!(now <= certificate.validToDate)) {
		throw new Refusal(`${what} has expired`);
	}
}

function refuseUnknownDemands(certificate: X509Certificate): void {
	const { criticalExtensions } = readFields(certificate.raw);
	if (criticalExtensions.some((id) => !UNDERSTOOD_EXTENSIONS.some((understood) => understood.equals(id)))) {
		throw new Refusal("certificate has a critical extension that is not understood");
	}
}

function readCommonName(certificate: X509Certificate): string {
	const names: string | string[] | undefined = certificate.toLegacyObject().subject.CN;
	return [names ?? ""].flat().at(-1) ?? "";
}
