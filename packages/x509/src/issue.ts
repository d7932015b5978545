import type { Authority } from "./authority.ts";
import { exportPrivateKey, generateKeyPair } from "./key-pair.ts";
import { type ExtendedKeyUsage, signLeaf } from "./leaf.ts";
import { encodeName, type Name } from "./name.ts";
import { faultOfNames } from "./name-constraints.ts";
import { encodeAlternativeNames } from "./san.ts";
import { generateSerial, type RandomBytes } from "./serial.ts";
import { rfc3339, wholeSeconds } from "./validity.ts";

/** The request for a certificate. */
export interface CertificateRequest extends Name {
	/** Host names and IP addresses; may be empty. */
	san: readonly string[];
	/** At least one. */
	extended_key_usage: readonly ExtendedKeyUsage[];
	/** Cut to the second, like `not_after`. */
	not_before: Date;
	not_after: Date;
	randomBytes: RandomBytes;
}

/** A certificate with its key, under the names of the pki engine's credential fields. */
export interface IssuedCertificate {
	/** PEM. */
	certificate: string;
	/** PEM, `EC PRIVATE KEY`. */
	private_key: string;
	/** PEM. */
	ca_certificate: string;
	common_name: string;
	san: readonly string[];
	/** 32 lower-case hexadecimal digits. */
	serial: string;
	/** RFC 3339, UTC. */
	not_before: string;
	/** RFC 3339, UTC. */
	expires_at: string;
}

/**
 * Issues a certificate for a new P-256 key; about 0.13 ms.
 * @throws Error naming the fault of the request, or beginning with `generating key:`, `marshalling key:`,
 * `generating serial:` or `signing certificate:` when that step fails
 * Spec: Engines › pki operations
 */
export function issueCertificate(authority: Authority, request: CertificateRequest): IssuedCertificate {
	const subject = encodeName(request);
	const alternativeNames = encodeAlternativeNames(request.san);
	const { notBefore, notAfter } = wholeSeconds(request.not_before, request.not_after);
	if (request.extended_key_usage.length === 0) {
		throw new Error("extended_key_usage must have at least one entry");
	}
	if (notBefore > authority.notAfter) {
		throw new Error("CA certificate has expired");
	}
	const fault = faultOfNames(authority.nameConstraints, subject, alternativeNames);
	if (fault !== undefined) {
		throw new Error(fault);
	}
	const { extended_key_usage: extendedKeyUsage, randomBytes } = request;
	const keyPair = attempt("generating key", generateKeyPair);
	const serial = attempt("generating serial", () => generateSerial(randomBytes));
	const leaf = { serial: serial.der, subject, alternativeNames, extendedKeyUsage, notBefore, notAfter, keyPair };
	return {
		certificate: attempt("signing certificate", () => signLeaf(authority.signer, leaf)),
		private_key: attempt("marshalling key", () => exportPrivateKey(keyPair)),
		ca_certificate: authority.certificate,
		common_name: request.common_name,
		san: request.san,
		serial: serial.hex,
		not_before: rfc3339(notBefore),
		expires_at: rfc3339(notAfter),
	};
}

function attempt<Result>(step: string, run: () => Result): Result {
	try {
		return run();
	} catch (cause) {
		throw new Error(`${step}: ${cause instanceof Error ? cause.message : "unknown failure"}`, { cause });
	}
}
