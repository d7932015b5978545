import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFields } from "./certificate-fields.ts";
import { createSigner, type SignatureHash, type Signer } from "./leaf.ts";
import { decodePem, encodePem } from "./pem.ts";

/** A certificate authority that is ready to sign. */
export interface Authority {
	/** The authority's certificate, PEM. */
	certificate: string;
	notBefore: Date;
	notAfter: Date;
	signer: Signer;
}

/** A certificate and its private key, both PEM, as they are kept. */
export interface KeptAuthority {
	certificate: string;
	private_key: string;
}

/** The curves that TLS peers know, under OpenSSL's names, and the hash that each signs with. */
const CURVE_HASH: Record<string, SignatureHash> = { prime256v1: "sha256", secp384r1: "sha384", secp521r1: "sha512" };

/**
 * Checks a certificate and its private key, and prepares them for signing. An expired authority loads: its `notAfter` says so.
 * @param kept.private_key `EC PRIVATE KEY` or `PRIVATE KEY`, not encrypted, on P-256, P-384 or P-521
 * @throws Error naming which of the two is wrong, and how; nothing of their content
 * Spec: Engines › Certificate authority engine
 */
export function loadAuthority(kept: KeptAuthority): Authority {
	const certificate = parseCertificate(kept.certificate);
	const privateKey = parsePrivateKey(kept.private_key);
	const hash = CURVE_HASH[privateKey.asymmetricKeyDetails?.namedCurve ?? ""];
	if (hash === undefined) {
		throw new Error("CA private key must be an EC key on P-256, P-384 or P-521");
	}
	if (!certificate.checkPrivateKey(privateKey)) {
		throw new Error("CA certificate and CA private key do not belong together");
	}
	// OpenSSL looks at the basic constraints and at the key usage for this.
	if (!certificate.ca) {
		throw new Error("CA certificate must be one of a certificate authority that may sign certificates");
	}
	const { subject, subjectKeyIdentifier } = readFields(certificate.raw);
	return {
		certificate: encodePem("CERTIFICATE", certificate.raw),
		notBefore: certificate.validFromDate,
		notAfter: certificate.validToDate,
		signer: createSigner(privateKey, hash, subject, subjectKeyIdentifier),
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

/** Not through `decodePem`: `openssl ecparam -genkey` writes the curve as a block of its own before the key. */
function parsePrivateKey(pem: string): KeyObject {
	if (!pem.includes("PRIVATE KEY-----")) {
		throw new Error("CA private key must be PEM of type EC PRIVATE KEY or PRIVATE KEY");
	}
	try {
		return createPrivateKey(pem);
	} catch {
		// The cause stays behind: an error about a private key is not worth the risk of carrying a piece of it.
		throw new Error("CA private key cannot be parsed");
	}
}
