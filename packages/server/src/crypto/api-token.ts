/**
 * API tokens: `svc_`, 40 random characters of base62 (238 bits), and 6 more that are the CRC-32 of all before them,
 * so that mistyped tokens and a scanner's false finds are recognised without asking the store.
 * Design: §6.
 */
import { hash } from "node:crypto";
import type { RandomBytes } from "./seal.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARACTERS = 40;
const CHECKSUM_CHARACTERS = 6;
const SHOWN_CHARACTERS = 12;
const SHAPE = /^svc_[0-9A-Za-z]{46}$/;
/** The largest multiple of 62 that a byte can hold: bytes from here up would favour the first digits. */
const UNBIASED_BELOW = 248;

/** Loaded with the first token: the rest of its module takes two milliseconds at startup. */
let crc32: ((text: string) => number) | undefined;

/** A new token. */
export interface NewApiToken {
	/** The full token, shown once and never stored. */
	token: string;
	/** Its first 12 characters, so that people recognise it. Spec: API › Resources. */
	prefix: string;
	/** SHA-256 of the token, which is stored. */
	digest: Buffer;
}

/** Makes an API token. */
export function makeToken(randomBytes: RandomBytes): NewApiToken {
	const body = `svc_${randomDigits(randomBytes)}`;
	const token = body + checksum(body);
	return { token, prefix: token.slice(0, SHOWN_CHARACTERS), digest: digestOf(token) };
}

/** Computes the SHA-256 that a token is looked up by, 32 bytes; undefined when it is malformed or its checksum is wrong. */
export function tokenDigest(text: string): Buffer | undefined {
	if (!SHAPE.test(text) || checksum(text.slice(0, -CHECKSUM_CHARACTERS)) !== text.slice(-CHECKSUM_CHARACTERS))
		return undefined;
	return digestOf(text);
}

function digestOf(token: string): Buffer {
	return hash("sha256", token, "buffer");
}

function randomDigits(randomBytes: RandomBytes): string {
	let digits = "";
	while (digits.length < RANDOM_CHARACTERS) {
		for (const byte of randomBytes(RANDOM_CHARACTERS - digits.length)) {
			if (byte < UNBIASED_BELOW) digits += DIGITS[byte % DIGITS.length];
		}
	}
	return digits;
}

function checksum(body: string): string {
	crc32 ??= process.getBuiltinModule("node:zlib").crc32;
	let rest = crc32(body);
	let digits = "";
	for (let at = 0; at < CHECKSUM_CHARACTERS; at++) {
		digits = DIGITS[rest % DIGITS.length] + digits;
		rest = Math.floor(rest / DIGITS.length);
	}
	return digits;
}
