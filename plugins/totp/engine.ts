import { type Engine, EngineError, optionalText, ParamsError } from "@svc/plugin-sdk";
import { Secret, TOTP } from "otpauth";
import { toDataURL } from "qrcode";
import descriptor from "./plugin.json" with { type: "json" };

/** The parameters that every authenticator app supports (RFC 6238). */
const ALGORITHM = "SHA1";
const DIGITS = 6;
const PERIOD_S = 30;
/** Steps before and after the present one whose codes are valid, for inexact clocks and slow typists. */
const WINDOW = 1;
/** 160 bits, as RFC 4226 §4 recommends. */
const SECRET_BYTES = 20;

/** UTF-8 bytes; a QR code always has room for both. An account is usually an e-mail address (RFC 5321 §4.5.3.1). */
const MAX_ISSUER_BYTES = 128;
const MAX_ACCOUNT_BYTES = 254;
/** Pixels of a QR code's smallest square, which makes the image at least 294 pixels wide. */
const QR_SCALE = 6;

/** Control characters, and halves of a surrogate pair, which no URL can contain. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
const CODE = /^[0-9]{6}$/;
/** A byte needs at least two characters. */
const BASE32 = /^[A-Z2-7]{2,}=*$/i;

/**
 * Makes the one-time-password engine. It stores nothing: a code is valid any number of times within its period.
 * @param now milliseconds since 1970
 * Spec: API › Engines
 */
export function createTotpEngine(now = Date.now): Engine {
	return {
		descriptor,
		async generate(params) {
			const issuer = readLabel(params, "issuer", MAX_ISSUER_BYTES);
			const account = readLabel(params, "account", MAX_ACCOUNT_BYTES);
			const secret = new Secret({ size: SECRET_BYTES });
			// A colon before the account ends the issuer: an issuer with a colon goes into its own parameter only.
			const issuerInLabel = !issuer.includes(":");
			const totp = { issuer, label: account, issuerInLabel, secret };
			const url = new TOTP({ ...totp, algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S }).toString();
			return { secret: secret.base32, url, qr_code: await toDataURL(url, { scale: QR_SCALE }) };
		},
		validate(params) {
			const secret = readCompact(params, "secret");
			const code = readCompact(params, "code");
			return { valid: BASE32.test(secret) && CODE.test(code) && isCodeOf(secret, code, now()) };
		},
	};
}

/** Compares in constant time. */
function isCodeOf(secret: string, token: string, timestamp: number): boolean {
	const key = Secret.fromBase32(secret);
	const settings = { algorithm: ALGORITHM, digits: DIGITS, period: PERIOD_S, window: WINDOW };
	return TOTP.validate({ ...settings, secret: key, token, timestamp }) !== null;
}

function readLabel(params: Record<string, unknown>, name: string, maxBytes: number): string {
	const text = optionalText(params, name) ?? "";
	if (text.trim() === "") throw new EngineError(`${name} is required`);
	if (UNPRINTABLE.test(text)) throw new ParamsError(`${name} must not contain control characters`);
	if (Buffer.byteLength(text) > maxBytes) throw new ParamsError(`${name} must have at most ${maxBytes} bytes`);
	return text;
}

/** Reads a required text without its spaces: people group what they read to each other. */
function readCompact(params: Record<string, unknown>, name: string): string {
	const text = (optionalText(params, name) ?? "").replaceAll(/\s/g, "");
	if (text === "") throw new EngineError(`${name} is required`);
	return text;
}
