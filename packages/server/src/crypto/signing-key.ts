import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";

/** An Ed25519 key pair of the keyring. */
export interface SigningKey {
	/** 8 bytes. */
	readonly id: Buffer;
	/** The 32 bytes that others verify with. */
	readonly publicKey: Buffer;
	/** Signs a message: 64 bytes. */
	sign(message: Buffer): Buffer;
	/** Tells whether this key signed the message. */
	verify(message: Buffer, signature: Buffer): boolean;
}

/** Bytes before the seed in a private key's PKCS #8 encoding. RFC 8410 section 7. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_BYTES = 32;

/** Makes a key pair from a seed of 32 bytes. */
export function signingKey(id: Buffer, seed: Buffer): SigningKey {
	const pkcs8 = Buffer.concat([PKCS8_HEAD, seed]);
	const privateKey = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
	pkcs8.fill(0);
	const publicKey = createPublicKey(privateKey);
	return {
		id,
		publicKey: publicKey.export({ format: "der", type: "spki" }).subarray(-PUBLIC_BYTES),
		sign: (message) => sign(null, message, privateKey),
		verify: (message, signature) => verify(null, message, publicKey, signature),
	};
}
