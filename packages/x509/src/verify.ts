import { X509Certificate } from "node:crypto";
import { extensionValue, readFields } from "./certificate-fields.ts";
import { faultOfNames } from "./name-constraints.ts";
import { EXTENSION } from "./oid.ts";
import { decodePem } from "./pem.ts";
import { faultOfProfile } from "./profile.ts";
import type { Root } from "./root.ts";
import { serialHex } from "./serial.ts";
import { rfc3339 } from "./validity.ts";

/** The verdict on a certificate, and its facts or the reason against it. */
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

/** The fault of a certificate, in words that may be shown. */
class Refusal extends Error {}

/** ECDSA with SHA-256, SHA-384 and SHA-512. */
const SIGNATURE_ALGORITHMS = new Set(["1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4"]);
/** Twenty bytes, RFC 5280 §4.1.2.2. */
const MAX_SERIAL_DIGITS = 40;

/**
 * Verifies that the authority signed a certificate and may have signed each of its names, and that both are within their dates.
 * Peers of the holder must check the names and the purpose themselves: nobody here knows them.
 * Takes any text, never throws, and its messages contain nothing of the text: `invalid PEM data`, `parse error: <detail>`, or
 * the fault that the verification found.
 * @param pem the certificate, one PEM block of at most 65,536 characters
 * @param root the certificate of the authority, the only root
 * Spec: Engines › pki operations
 */
export function verifyCertificate(pem: string, root: Root, now: Date): Verification {
	try {
		const certificate = parseCertificate(pem);
		refuseUnsigned(certificate, root.parsed);
		refuseOutOfDate("CA certificate", root.parsed, now);
		refuseOutOfDate("certificate", certificate, now);
		refuseBrokenRules(certificate, root);
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
	// OpenSSL stops at the end of the certificate, and also finds a PEM certificate inside other bytes.
	if (!certificate.raw.equals(block.der)) {
		throw new Refusal("parse error: the PEM block holds more than a certificate");
	}
	if (!/^0*[1-9A-F]/.test(certificate.serialNumber)) {
		throw new Refusal("parse error: the serial number is not positive");
	}
	if (certificate.serialNumber.length > MAX_SERIAL_DIGITS) {
		throw new Refusal("parse error: the serial number is longer than 20 bytes");
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

function refuseBrokenRules(certificate: X509Certificate, root: Root): void {
	const fields = readFields(certificate.raw);
	const fault = faultOfProfile(fields, certificate.ca);
	if (fault !== undefined) {
		throw new Refusal(`certificate ${fault}`);
	}
	const alternativeNames = extensionValue(fields, EXTENSION.subjectAlternativeName);
	const faultOfName = faultOfNames(root.nameConstraints, fields.subject, alternativeNames);
	if (faultOfName !== undefined) {
		throw new Refusal(faultOfName);
	}
}

function readCommonName(certificate: X509Certificate): string {
	const names: string | string[] | undefined = certificate.toLegacyObject().subject.CN;
	return [names ?? ""].flat().at(-1) ?? "";
}
