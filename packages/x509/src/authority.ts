import { createPrivateKey, type KeyObject } from "node:crypto";
import { type CertificateFields, extensionValue } from "./certificate-fields.ts";
import { readElements } from "./der-reader.ts";
import { createSigner, type SignatureHash, type Signer } from "./leaf.ts";
import { EXTENSION } from "./oid.ts";
import { type Root, readRoot } from "./root.ts";

/** A certificate authority that is ready to sign. */
export interface Authority extends Root {
	signer: Signer;
}

/** The stored form of an authority: its certificate and private key, both PEM. */
export interface KeptAuthority {
	certificate: string;
	private_key: string;
}

/** The curves that TLS peers support, under OpenSSL's names, and the hash that each signs with. */
const CURVE_HASH: Record<string, SignatureHash> = { prime256v1: "sha256", secp384r1: "sha384", secp521r1: "sha512" };

/**
 * Checks a certificate and its private key, and prepares them for signing. An expired authority loads: its `notAfter` shows it.
 * @param kept.private_key `EC PRIVATE KEY` or `PRIVATE KEY`, not encrypted, on P-256, P-384 or P-521
 * @throws Error naming which of the two is wrong, and how; nothing of their content
 * Spec: Engines › Certificate authority engine
 */
export function loadAuthority(kept: KeptAuthority): Authority {
	const root = readRoot(kept.certificate);
	const privateKey = parsePrivateKey(kept.private_key);
	const hash = CURVE_HASH[privateKey.asymmetricKeyDetails?.namedCurve ?? ""];
	if (hash === undefined) {
		throw new Error("CA private key must be an EC key on P-256, P-384 or P-521");
	}
	if (!root.parsed.checkPrivateKey(privateKey)) {
		throw new Error("CA certificate and CA private key do not belong together");
	}
	return { ...root, signer: createSigner(privateKey, hash, root.fields.subject, readKeyIdentifier(root.fields)) };
}

/** Reads the key identifier; empty when the certificate has none. */
function readKeyIdentifier(fields: CertificateFields): Buffer {
	const [identifier] = readElements(extensionValue(fields, EXTENSION.subjectKeyIdentifier));
	return identifier?.content ?? Buffer.alloc(0);
}

/** Does not use `decodePem`: `openssl ecparam -genkey` writes the curve as a separate block before the key. */
function parsePrivateKey(pem: string): KeyObject {
	if (!pem.includes("PRIVATE KEY-----")) {
		throw new Error("CA private key must be PEM of type EC PRIVATE KEY or PRIVATE KEY");
	}
	try {
		return createPrivateKey(pem);
	} catch {
		// Without the cause: an error about a private key might carry a piece of it.
		throw new Error("CA private key cannot be parsed");
	}
}
