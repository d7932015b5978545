import { createHash } from "node:crypto";
import type { System } from "../system.ts";
import type { KeyPurpose, KeyRow } from "./keyring-model.ts";
import {
	type DataKey,
	dataKey,
	type EncryptionContext,
	KEY_ID_BYTES,
	keyIdOf,
	openRecord,
	type RandomBytes,
	sealRecord,
} from "./seal.ts";
import { KEY_BYTES } from "./xaes.ts";

/** Computes the name by which people tell master keys apart: 16 hexadecimal digits that reveal nothing of the key. Design: §5. */
export function masterFingerprint(bytes: Buffer): string {
	const digest = createHash("sha256").update("svc master key v1").update(bytes).digest();
	return digest.toString("hex", 0, KEY_ID_BYTES);
}

/** Imports a master key for wrapping. Its id is its fingerprint, so each wrapped key says which master key opens it. */
export function importMaster(bytes: Buffer): DataKey {
	return dataKey(Buffer.from(masterFingerprint(bytes), "hex"), bytes);
}

/** Returns the fingerprint of an imported master key. */
export function fingerprintOf(master: DataKey): string {
	return master.id.toString("hex");
}

/** Makes a fresh active key for a purpose, wrapped under the master key. */
export function newKeyRow(
	master: DataKey,
	purpose: KeyPurpose,
	realm_id: string,
	system: Pick<System, "now" | "randomBytes">,
): KeyRow {
	const name = { id: system.randomBytes(KEY_ID_BYTES), purpose, realm_id };
	const bytes = system.randomBytes(KEY_BYTES);
	const wrapped = sealRecord(master, keyContext(name), bytes, system.randomBytes);
	bytes.fill(0);
	return { ...name, state: "active", wrapped, created_at: system.now().toISOString() };
}

/** Unwraps a key's 32 bytes; undefined when the row was altered or another master key wraps it. */
export function unwrapKey(master: DataKey, row: KeyRow): Buffer | undefined {
	return openRecord(master, keyContext(row), row.wrapped);
}

/** Wraps the same key under another master key; undefined when `from` does not open it. */
export function rewrapKey(from: DataKey, to: DataKey, row: KeyRow, randomBytes: RandomBytes): Buffer | undefined {
	const bytes = unwrapKey(from, row);
	if (bytes === undefined) return undefined;
	const wrapped = sealRecord(to, keyContext(row), bytes, randomBytes);
	bytes.fill(0);
	return wrapped;
}

/** Tells whether the row names this master key. */
export function wraps(master: DataKey, row: KeyRow): boolean {
	return keyIdOf(row.wrapped)?.equals(master.id) ?? false;
}

/** Names the row of a key. The state is not bound, since rotations change it. */
function keyContext(row: Pick<KeyRow, "id" | "purpose" | "realm_id">): EncryptionContext {
	return {
		label: "keyring.wrapped",
		realm_id: row.realm_id,
		environment: "",
		name: row.purpose,
		row_id: row.id.toString("hex"),
	};
}
