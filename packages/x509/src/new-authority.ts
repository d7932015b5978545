import * as asn1js from "asn1js";
import * as pkijs from "pkijs";
import type { KeptAuthority } from "./authority.ts";
import { bitString, octetString, time } from "./der.ts";
import { exportPrivateKey, generateKeyPair, keyIdentifier } from "./key-pair.ts";
import { encodeName, type Name } from "./name.ts";
import { encodePem } from "./pem.ts";
import { generateSerial, type RandomBytes } from "./serial.ts";
import { wholeSeconds } from "./validity.ts";

/** The request for a new certificate authority. */
export interface NewAuthority extends Name {
	now: Date;
	/** Years of validity; 10 by default. */
	years?: number;
	randomBytes: RandomBytes;
}

const DEFAULT_YEARS = 10;
/** Version 3 is encoded as 2. */
const VERSION_3 = 2;
/** One more authority may come between this one and the last certificate of a chain. */
const PATH_LENGTH = 1;
/** keyCertSign is bit 5, cRLSign bit 6, and one bit of the byte is unused. */
const SIGN_CERTIFICATES_AND_LISTS = bitString(Uint8Array.of(0b0000_0110), 1);

/**
 * Makes a self-signed certificate authority: ECDSA P-256, certificate and CRL signing, path length 1.
 * @throws Error when a name is not acceptable, or the random source fails
 * Spec: Engines › Certificate authority engine
 */
export async function makeAuthority(input: NewAuthority): Promise<KeptAuthority> {
	const keyPair = generateKeyPair();
	const { notBefore, notAfter } = wholeSeconds(input.now, addYears(input.now, input.years ?? DEFAULT_YEARS));
	// Decoded from bytes because pkijs writes a name made of objects as one set with several values.
	const name = pkijs.RelativeDistinguishedNames.fromBER(exactBytes(encodeName(input)));
	const certificate = new pkijs.Certificate({
		version: VERSION_3,
		serialNumber: asn1js.Integer.fromBigInt(`0x${generateSerial(input.randomBytes).hex}`),
		issuer: name,
		subject: name,
		notBefore: pkijs.Time.fromBER(exactBytes(time(notBefore))),
		notAfter: pkijs.Time.fromBER(exactBytes(time(notAfter))),
		subjectPublicKeyInfo: pkijs.PublicKeyInfo.fromBER(
			exactBytes(keyPair.publicKey.export({ type: "spki", format: "der" })),
		),
		extensions: [
			new pkijs.Extension({
				extnID: pkijs.id_BasicConstraints,
				critical: true,
				extnValue: new pkijs.BasicConstraints({ cA: true, pathLenConstraint: PATH_LENGTH }).toSchema().toBER(),
			}),
			new pkijs.Extension({
				extnID: pkijs.id_KeyUsage,
				critical: true,
				extnValue: exactBytes(SIGN_CERTIFICATES_AND_LISTS),
			}),
			new pkijs.Extension({
				extnID: pkijs.id_SubjectKeyIdentifier,
				extnValue: exactBytes(octetString(keyIdentifier(keyPair.point))),
			}),
		],
	});
	await certificate.sign(
		// Node's keys have more usages than the browsers' type that pkijs names.
		keyPair.privateKey.toCryptoKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]) as CryptoKey,
		"SHA-256",
	);
	return {
		certificate: encodePem("CERTIFICATE", Buffer.from(certificate.toSchema().toBER())),
		private_key: exportPrivateKey(keyPair),
	};
}

/** Copies bytes into a buffer of exactly their length; a small Buffer is a slice of a larger pool, and pkijs takes the pool. */
function exactBytes(bytes: Buffer): ArrayBuffer {
	return Uint8Array.from(bytes).buffer;
}

function addYears(instant: Date, years: number): Date {
	const later = new Date(instant);
	later.setUTCFullYear(later.getUTCFullYear() + years);
	return later;
}
