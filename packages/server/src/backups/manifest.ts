import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as v from "valibot";
import type { SigningKey } from "../crypto/signing-key.ts";
import type { Manifest } from "./model.ts";

/** Far more than any manifest needs. */
const MAX_BYTES = 4096;

const Hex = v.pipe(v.string(), v.regex(/^[0-9a-f]+$/));
const Whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Fields in the order in which they are written and signed. */
const Fields = v.strictObject({
	format: v.literal(1),
	name: v.string(),
	created_at: v.pipe(v.string(), v.isoTimestamp()),
	svc: v.string(),
	schema: v.string(),
	fingerprint: Hex,
	events: Whole,
	last_hash: Hex,
	restore_epoch: Whole,
	bytes: Whole,
	sha256: Hex,
	key_id: Hex,
	signature: v.string(),
});

/** A manifest signed with the key that signs the checkpoints of the audit log. */
export interface Signed {
	manifest: Manifest;
	/** Hexadecimal. */
	key_id: string;
	/** Ed25519. */
	signature: Buffer;
}

/** A file that is not, or no longer, the backup that a server made. `message` says what is wrong with it. */
export class UnsoundBackup extends Error {
	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "UnsoundBackup";
	}
}

/** Appends the manifest to the database and makes the whole file durable. SQLite does not look beyond its last page. */
export async function sealManifest(file: string, manifest: Manifest, key: SigningKey): Promise<void> {
	const handle = await promises.open(file, "r+");
	try {
		await handle.write(
			lineOf({ manifest, key_id: key.id.toString("hex"), signature: key.sign(textOf(manifest)) }),
			manifest.bytes,
		);
		await handle.sync();
	} finally {
		await handle.close();
	}
}

/** Reads a backup's manifest. @throws UnsoundBackup when it is no backup, or was cut off */
export async function readManifest(file: string): Promise<Signed> {
	const handle = await promises.open(file, "r");
	try {
		const { size } = await handle.stat();
		const end = await readAt(handle, Math.max(0, size - MAX_BYTES), Math.min(size, MAX_BYTES));
		const at = end.lastIndexOf("\n", -2);
		const text = end.toString("utf8", at);
		const signed = parse(text);
		if (signed === undefined || lineOf(signed) !== text || signed.manifest.bytes !== size - (end.length - at)) {
			throw new UnsoundBackup("it is not an svc backup, or its end was truncated or altered");
		}
		return signed;
	} finally {
		await handle.close();
	}
}

/** Writes the text that the key signs. */
export function textOf(manifest: Manifest): Buffer {
	return Buffer.from(`svc-backup-v1\n${JSON.stringify(manifest)}\n`);
}

function lineOf({ manifest, key_id, signature }: Signed): string {
	return `\n${JSON.stringify({ ...manifest, key_id, signature: signature.toString("base64url") })}\n`;
}

function parse(text: string): Signed | undefined {
	try {
		const { key_id, signature, ...manifest } = v.parse(Fields, JSON.parse(text));
		return { manifest, key_id, signature: Buffer.from(signature, "base64url") };
	} catch {
		return undefined;
	}
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}
