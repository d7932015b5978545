import type { System } from "../system.ts";

/** The parameters that every authenticator app supports (RFC 6238). */
const SETTINGS = { algorithm: "SHA1", digits: 6, period: 30 } as const;

/** Steps before and after the present one whose codes are accepted, for inexact clocks and slow typists. */
const WINDOW = 1;

/** 160 bits, as RFC 4226 §4 recommends. */
const SECRET_BYTES = 20;

/** A code of an authenticator app. Other digits than these ten are no code, and the library would throw. */
const CODE = /^[0-9]{6}$/;

/** Loads the library on first use: most logins have no code. */
const load = () => import("otpauth");

/** Tells whether a typed code may be one of an authenticator app. */
export function isTotpCode(code: string): boolean {
	return CODE.test(code);
}

/** Makes the secret of a new factor. */
export function newTotpSecret({ randomBytes }: Pick<System, "randomBytes">): Buffer {
	return randomBytes(SECRET_BYTES);
}

/** Writes a secret for an authenticator app: as text to type, and as a link. @param label the account's e-mail */
export async function describeTotp(
	bytes: Buffer,
	issuer: string,
	label: string,
): Promise<{ secret: string; url: string }> {
	const { Secret, TOTP } = await load();
	const secret = new Secret({ buffer: copyOf(bytes) });
	return { secret: secret.base32, url: new TOTP({ ...SETTINGS, issuer, label, secret }).toString() };
}

/** Finds the step of time whose code this is, compared in constant time; undefined when it is none that is accepted now. */
export async function stepOf(bytes: Buffer, code: string, now: Date): Promise<number | undefined> {
	if (!isTotpCode(code)) return undefined;
	const { Secret, TOTP } = await load();
	const timestamp = now.getTime();
	const secret = new Secret({ buffer: copyOf(bytes) });
	const distance = TOTP.validate({ ...SETTINGS, secret, token: code, timestamp, window: WINDOW });
	return distance === null ? undefined : Math.floor(timestamp / 1000 / SETTINGS.period) + distance;
}

/** Copies bytes out of the pool that a small Buffer is part of. */
function copyOf(bytes: Buffer): ArrayBuffer {
	return new Uint8Array(bytes).buffer;
}
