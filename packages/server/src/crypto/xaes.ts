/**
 * XAES-256-GCM as in https://c2sp.org/XAES-256-GCM: AES-256-GCM under a key derived for each message, so that 24-byte nonces may be random without end.
 *
 *   K1 = CMAC subkey of K          (once per key)
 *   Kx = AES(K, M1 ^ K1) || AES(K, M2 ^ K1)   with M1 = 00 01 'X' 00 || nonce[0..12], M2 = 00 02 'X' 00 || nonce[0..12]
 *   box = AES-256-GCM(Kx, nonce[12..24], plaintext, aad) || tag
 */
import { type Cipheriv, createCipheriv, createDecipheriv } from "node:crypto";

/** Bytes of a key. */
export const KEY_BYTES = 32;
/** Bytes of a nonce. */
export const NONCE_BYTES = 24;
/** Bytes by which a box is longer than its plaintext. */
export const TAG_BYTES = 16;

const BLOCK_BYTES = 16;
const DERIVING_BYTES = 12;
/** Offset of the nonce in M1 and M2. */
const NONCE_AT = 4;
/** M1 and M2 for a nonce of zeros. */
const MESSAGES = Buffer.from(`00015800${"00".repeat(12)}00025800${"00".repeat(12)}`, "hex");
const GCM = { authTagLength: TAG_BYTES };

/** An imported key. It holds no copy of the bytes it was made from. */
export interface XaesKey {
	/** AES-256-ECB keeps no state between blocks, so one object serves every message and is set up once. */
	readonly aes: Cipheriv;
	/** M1 ^ K1 and M2 ^ K1 for a nonce of zeros. */
	readonly blocks: Uint8Array;
	/** Scratch space for the same with the nonce mixed in. */
	readonly mixed: Uint8Array;
}

/**
 * Prepares a key of 32 bytes for any number of messages; you may overwrite the bytes afterwards.
 * @throws RangeError when the length is wrong
 */
export function importKey(bytes: Buffer): XaesKey {
	if (bytes.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes`);
	const aes = createCipheriv("aes-256-ecb", bytes, null).setAutoPadding(false);
	const k1 = doubled(aes.update(Buffer.alloc(BLOCK_BYTES)));
	const blocks = Uint8Array.from(MESSAGES, (byte, at) => byte ^ (k1[at % BLOCK_BYTES] ?? 0));
	return { aes, blocks, mixed: new Uint8Array(MESSAGES.length) };
}

/**
 * Encrypts and authenticates one message.
 * @param nonce 24 bytes, never used twice with this key; random ones are fine
 * @param before bytes to put before the box
 * @returns ciphertext followed by its tag
 */
export function seal(
	key: XaesKey,
	nonce: Buffer,
	plaintext: Uint8Array,
	aad: Uint8Array,
	before: readonly Uint8Array[] = [],
): Buffer {
	if (nonce.length !== NONCE_BYTES) throw new RangeError(`a nonce has ${NONCE_BYTES} bytes`);
	const subkey = deriveKey(key, nonce);
	const cipher = createCipheriv("aes-256-gcm", subkey, nonce.subarray(DERIVING_BYTES), GCM);
	subkey.fill(0);
	cipher.setAAD(aad);
	const ciphertext = cipher.update(plaintext);
	cipher.final();
	return Buffer.concat([...before, ciphertext, cipher.getAuthTag()]);
}

/** Checks and decrypts the output of `seal`; undefined when key, nonce, box or associated data differ from those it was sealed with. */
export function open(key: XaesKey, nonce: Buffer, box: Buffer, aad: Uint8Array): Buffer | undefined {
	if (nonce.length !== NONCE_BYTES || box.length < TAG_BYTES) return undefined;
	const subkey = deriveKey(key, nonce);
	const cipher = createDecipheriv("aes-256-gcm", subkey, nonce.subarray(DERIVING_BYTES), GCM);
	subkey.fill(0);
	cipher.setAAD(aad);
	cipher.setAuthTag(box.subarray(box.length - TAG_BYTES));
	const plaintext = cipher.update(box.subarray(0, box.length - TAG_BYTES));
	try {
		cipher.final();
	} catch {
		// `final` throws only when the tag does not match.
		return undefined;
	}
	return plaintext;
}

function deriveKey({ aes, blocks, mixed }: XaesKey, nonce: Buffer): Buffer {
	mixed.set(blocks);
	for (let at = 0; at < DERIVING_BYTES; at++) {
		const byte = nonce[at] ?? 0;
		mixed[NONCE_AT + at] = (blocks[NONCE_AT + at] ?? 0) ^ byte;
		mixed[BLOCK_BYTES + NONCE_AT + at] = (blocks[BLOCK_BYTES + NONCE_AT + at] ?? 0) ^ byte;
	}
	return aes.update(mixed);
}

/** Doubles a block in GF(2^128), as in the subkey generation of CMAC (NIST SP 800-38B, 6.1). */
function doubled(block: Buffer): Buffer {
	const value = BigInt(`0x${block.toString("hex")}`) << 1n;
	const reduced = value >> 128n === 0n ? value : (value & ((1n << 128n) - 1n)) ^ 0x87n;
	return Buffer.from(reduced.toString(16).padStart(2 * BLOCK_BYTES, "0"), "hex");
}
