import { generateKeyPair, sign } from "node:crypto";
import { promisify } from "node:util";
import { bitString, element, explicit, objectId, sequence, time } from "./der.ts";
import { criticalExtension, NOT_AN_AUTHORITY, VERSION_3 } from "./leaf.ts";
import { encodeName } from "./name.ts";
import { EXTENSION } from "./oid.ts";
import { encodePem } from "./pem.ts";
import { generateSerial, type RandomBytes } from "./serial.ts";
import { wholeSeconds } from "./validity.ts";

/** The request for a certificate of a key that signs messages. */
export interface SigningCertificateRequest {
	common_name: string;
	now: Date;
	/** Days of validity. */
	days: number;
	randomBytes: RandomBytes;
}

/** A key that signs messages, with its self-signed certificate. */
export interface SigningCertificate {
	/** PEM. */
	certificate: string;
	/** PEM, `PRIVATE KEY` (PKCS #8). */
	private_key: string;
}

/** sha256WithRSAEncryption, whose parameters are NULL. */
const ALGORITHM = sequence(objectId("1.2.840.113549.1.1.11"), element(0x05));
/** digitalSignature is bit 0, and seven bits of the byte are unused. */
const SIGNATURE_ONLY = criticalExtension(EXTENSION.keyUsage, bitString(Uint8Array.of(0b1000_0000), 7));
const MODULUS_BITS = 2048;
/** The certificate begins this much earlier, for readers with slow clocks. */
const CLOCK_SKEW_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Makes an RSA key for signatures and a self-signed certificate that carries it to those who verify them; about 0.1 s, in a thread of Node's pool.
 * RSA, as much SAML software verifies nothing else.
 * @throws Error when the common name is not acceptable, or the random source fails
 */
export async function createSigningCertificate(request: SigningCertificateRequest): Promise<SigningCertificate> {
	const name = encodeName({ common_name: request.common_name, organization: "" });
	const startMs = request.now.getTime();
	const { notBefore, notAfter } = wholeSeconds(
		new Date(startMs - CLOCK_SKEW_MS),
		new Date(startMs + request.days * DAY_MS),
	);
	const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: MODULUS_BITS });
	const toBeSigned = sequence(
		VERSION_3,
		generateSerial(request.randomBytes).der,
		ALGORITHM,
		name,
		sequence(time(notBefore), time(notAfter)),
		name,
		publicKey.export({ type: "spki", format: "der" }),
		explicit(3, sequence(SIGNATURE_ONLY, NOT_AN_AUTHORITY)),
	);
	const signature = sign("sha256", toBeSigned, privateKey);
	return {
		certificate: encodePem("CERTIFICATE", sequence(toBeSigned, ALGORITHM, bitString(signature))),
		private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
	};
}
