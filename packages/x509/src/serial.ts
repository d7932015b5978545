import type { X509Certificate } from "node:crypto";
import { unsignedInteger } from "./der.ts";

/** A source of `size` cryptographically random bytes. */
export type RandomBytes = (size: number) => Buffer;

/** A certificate's number, in the shown and in the signed form. */
export interface Serial {
	/** 32 lower-case digits, leading zeros kept. */
	hex: string;
	/** The INTEGER. */
	der: Buffer;
}

const SERIAL_BYTES = 16;

/**
 * Draws a serial of 16 random bytes.
 * @throws Error when the random source gives another number of bytes, or only zeros: a serial is positive
 * Spec: Engines › pki operations
 */
export function generateSerial(randomBytes: RandomBytes): Serial {
	const bytes = randomBytes(SERIAL_BYTES);
	if (bytes.length !== SERIAL_BYTES || bytes.every((byte) => byte === 0)) {
		throw new Error("the random source failed");
	}
	return { hex: bytes.toString("hex"), der: unsignedInteger(bytes) };
}

/** Formats a certificate's serial as `generateSerial` does; Node omits leading zero bytes and writes capitals. */
export function serialHex(certificate: X509Certificate): string {
	return certificate.serialNumber.toLowerCase().padStart(SERIAL_BYTES * 2, "0");
}
