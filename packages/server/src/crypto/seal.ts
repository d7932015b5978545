/**
 * Ciphertext in the store and in answers: suite (1 byte, 1 = XAES-256-GCM), key id (8), nonce (24), ciphertext, tag (16).
 * A box is bound to its associated data: the suite and key id, and for a record everything that says where it belongs.
 * Design: §5.
 */
import { importKey, NONCE_BYTES, open, seal, TAG_BYTES, type XaesKey } from "./xaes.ts";

/** Bytes of a key's id. */
export const KEY_ID_BYTES = 8;
/** Prefix of portable ciphertext. Spec: API › Versioning. */
export const PORTABLE_PREFIX = "svc:v1:";

const SUITE = 1;
const HEADER_BYTES = 1 + KEY_ID_BYTES;
const CIPHERTEXT_AT = HEADER_BYTES + NONCE_BYTES;
/** The header's nine bytes are exactly twelve characters of base64. */
const HEADER_CHARACTERS = 12;

/** A key that seals, with the id that its boxes carry. */
export interface DataKey {
	/** 8 bytes. */
	readonly id: Buffer;
	/** Header of its boxes: suite and id. */
	readonly header: Buffer;
	readonly cipher: XaesKey;
}

/** The row and column that a record belongs to: a box moved to any other does not open. */
export interface EncryptionContext {
	/** Table and column, such as `secret_version.value`. */
	label: string;
	/** Empty when the record belongs to no realm. */
	realm_id: string;
	/** Empty when the record belongs to no environment. */
	environment: string;
	/** Secret key, or another name of the record among its kind. */
	name: string;
	/** Row id; if it is new for each version, it also binds the version. */
	row_id: string;
}

/** `size` cryptographically random bytes. */
export type RandomBytes = (size: number) => Buffer;

/** Makes a key from an id of 8 bytes and 32 secret bytes, which you may overwrite afterwards. */
export function dataKey(id: Buffer, bytes: Buffer): DataKey {
	if (id.length !== KEY_ID_BYTES) throw new RangeError(`a key id has ${KEY_ID_BYTES} bytes`);
	return { id, header: Buffer.concat([Buffer.from([SUITE]), id]), cipher: importKey(bytes) };
}

/** Seals a record in its context. Returns the box to store, 49 bytes longer than the plaintext. */
export function sealRecord(
	key: DataKey,
	context: EncryptionContext,
	plaintext: Uint8Array,
	randomBytes: RandomBytes,
): Buffer {
	return sealBox(key, associatedDataOf(key, context), plaintext, randomBytes);
}

/** Opens a record of this context. Returns undefined when it was altered, moved, or sealed with another key. */
export function openRecord(key: DataKey, context: EncryptionContext, box: Buffer): Buffer | undefined {
	return openBox(key, associatedDataOf(key, context), box);
}

/** Reads the id of the key that sealed a box; undefined when it is no box of ours. */
export function keyIdOf(box: Buffer): Buffer | undefined {
	if (box.length < CIPHERTEXT_AT + TAG_BYTES || box[0] !== SUITE) return undefined;
	return box.subarray(1, HEADER_BYTES);
}

/** Seals a text as portable ciphertext, which only this server opens: `svc:v1:` and base64url without padding. Spec: API › Secrets and encryption. */
export function sealPortable(key: DataKey, plaintext: string, randomBytes: RandomBytes): string {
	const box = sealBox(key, portableAssociatedData(key), Buffer.from(plaintext), randomBytes);
	return PORTABLE_PREFIX + box.toString("base64url");
}

/**
 * Opens portable ciphertext.
 * @returns the text, or undefined unless `sealPortable` made exactly this with a key we have; never throws
 */
export function openPortable(text: string, keyById: (id: Buffer) => DataKey | undefined): string | undefined {
	if (!text.startsWith(PORTABLE_PREFIX)) return undefined;
	const bodyAt = PORTABLE_PREFIX.length;
	// The header alone tells whether the key is ours, before any work on a long foreign text.
	const header = Buffer.from(text.slice(bodyAt, bodyAt + HEADER_CHARACTERS), "base64url");
	const key = keyById(header.subarray(1));
	if (key === undefined) return undefined;
	const body = text.slice(bodyAt);
	const box = Buffer.from(body, "base64url");
	// Node's decoder is lenient; a text that does not encode to itself again was not canonical.
	if (box.toString("base64url") !== body) return undefined;
	return openBox(key, portableAssociatedData(key), box)?.toString();
}

function sealBox(key: DataKey, associatedData: Buffer, plaintext: Uint8Array, randomBytes: RandomBytes): Buffer {
	const nonce = randomBytes(NONCE_BYTES);
	return seal(key.cipher, nonce, plaintext, associatedData, [key.header, nonce]);
}

function openBox(key: DataKey, associatedData: Buffer, box: Buffer): Buffer | undefined {
	if (box.length < CIPHERTEXT_AT + TAG_BYTES || key.header.compare(box, 0, HEADER_BYTES) !== 0) return undefined;
	return open(key.cipher, box.subarray(HEADER_BYTES, CIPHERTEXT_AT), box.subarray(CIPHERTEXT_AT), associatedData);
}

function portableAssociatedData(key: DataKey): Buffer {
	return Buffer.concat([Buffer.from(PORTABLE_PREFIX), key.header]);
}

/** Precedes every part with its length in four bytes, so that no two contexts have the same associated data. */
function associatedDataOf(key: DataKey, context: EncryptionContext): Buffer {
	const parts = [context.label, context.realm_id, context.environment, context.name, context.row_id];
	let size = HEADER_BYTES;
	for (const part of parts) size += 4 + Buffer.byteLength(part);
	const associatedData = Buffer.allocUnsafe(size);
	let at = key.header.copy(associatedData);
	for (const part of parts) {
		const length = associatedData.write(part, at + 4);
		associatedData.writeUInt32BE(length, at);
		at += 4 + length;
	}
	return associatedData;
}
