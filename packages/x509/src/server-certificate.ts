import { X509Certificate } from "node:crypto";
import { exportPrivateKey, generateKeyPair, keyIdentifier } from "./key-pair.ts";
import { createSigner, signLeaf } from "./leaf.ts";
import { encodeName } from "./name.ts";
import { encodeAlternativeNames } from "./san.ts";
import { generateSerial, type RandomBytes } from "./serial.ts";
import { wholeSeconds } from "./validity.ts";

/** The request for a server's own certificate. */
export interface ServerCertificateRequest {
	/** Host names and IP addresses at which clients reach the server; at least one. */
	names: readonly string[];
	now: Date;
	/** Days of validity. */
	days: number;
	randomBytes: RandomBytes;
}

/** A certificate for a TLS listener, with its key. */
export interface ServerCertificate {
	/** PEM. */
	certificate: string;
	/** PEM, `EC PRIVATE KEY`. */
	private_key: string;
	/** SHA-256 of the certificate, upper-case hexadecimal with colons. */
	fingerprint: string;
}

/** Clients look at the alternative names; people see this in a list of certificates. */
const SUBJECT = { common_name: "svc server", organization: "" };
/** The certificate begins this much earlier, for clients with slow clocks. */
const CLOCK_SKEW_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Makes a self-signed certificate for a TLS listener. It vouches only for itself: a client that trusts it (`curl --cacert`,
 * `ca:` in Node) trusts no other certificate because of it.
 * @throws Error when a name is neither an IP address nor a host name, or there is none
 * Design: §7.1
 */
export function createServerCertificate(request: ServerCertificateRequest): ServerCertificate {
	if (request.names.length === 0) {
		throw new Error("names must have at least one entry");
	}
	const keyPair = generateKeyPair();
	const subject = encodeName(SUBJECT);
	const startMs = request.now.getTime();
	const signer = createSigner(keyPair.privateKey, "sha256", subject, keyIdentifier(keyPair.point));
	const certificate = signLeaf(signer, {
		serial: generateSerial(request.randomBytes).der,
		subject,
		alternativeNames: encodeAlternativeNames(request.names),
		extendedKeyUsage: ["server"],
		...wholeSeconds(new Date(startMs - CLOCK_SKEW_MS), new Date(startMs + request.days * DAY_MS)),
		keyPair,
	});
	return { certificate, private_key: exportPrivateKey(keyPair), fingerprint: certificateFingerprint(certificate) };
}

/**
 * Computes the SHA-256 of the first certificate in a PEM text: upper-case hexadecimal with colons, as `openssl x509 -fingerprint` prints it.
 * @throws Error when there is no readable certificate in the text
 */
export function certificateFingerprint(pem: string): string {
	try {
		return new X509Certificate(pem).fingerprint256;
	} catch (cause) {
		throw new Error("certificate must be PEM of type CERTIFICATE", { cause });
	}
}
