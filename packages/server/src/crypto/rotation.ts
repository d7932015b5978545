import { setImmediate } from "node:timers/promises";
import type { AuditEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { KeyringNeeds } from "./first-keys.ts";
import type { Keyring } from "./keyring.ts";
import { type KeyPurpose, type KeyRow, MasterKeyReplaced } from "./keyring-model.ts";
import type { DataKey } from "./seal.ts";
import { fingerprintOf, masterFingerprint, rewrapKey } from "./wrap.ts";

/** Home of the master key, as its rotation sees it: see master-key-file.ts. */
export interface MasterKeyHome {
	/** Stores the next key next to the current one, durably. */
	stage(next: Buffer): Promise<void>;
	/** Replaces the present key with the staged one or drops the staged one, whichever leaves the key of this fingerprint. No-op if none is staged. */
	settle(fingerprint: string): Promise<void>;
}

/** Dependencies of a rotation of the master key. */
export interface RotationNeeds extends KeyringNeeds {
	keyring: Keyring;
	/** Undefined when the key comes from a credential or the environment: then the operator replaces it there. */
	home: MasterKeyHome | undefined;
}

/** A purge may remove keys between their reading and writing, but not this often in a row. */
const MAX_ATTEMPTS = 10;
/** Keys re-wrapped in one turn of the event loop: about 5 ms. */
const KEYS_PER_TURN = 500;

/**
 * Wraps every key of the keyring under `next` while the server keeps working. The data itself stays untouched.
 * You may interrupt it at any point: the store changes in one transaction, and at the next start its fingerprint says which of the two files applies.
 * @param next 32 bytes
 * @returns the fingerprints of the old key and the new one
 * @throws AppError conflict when `next` is the key in use, when another server lacks it, or when keys keep coming and going
 * Design: §5.
 */
export async function rotateMasterKey(
	needs: RotationNeeds,
	next: Buffer,
	event: AuditEvent,
): Promise<{ from: string; to: string }> {
	const { keys, keyring, home } = needs;
	const changed = { from: "", to: masterFingerprint(next) };
	await keyring.changeMaster(next, async (from, to) => {
		changed.from = fingerprintOf(from);
		await home?.settle(fingerprintOf(from));
		await home?.stage(next);
		try {
			await rewrapAll(needs, from, to, event);
		} finally {
			// A failed transaction may still have been committed: the store knows.
			await home?.settle((await keys.fingerprint()) ?? fingerprintOf(from));
		}
	});
	return changed;
}

const UNFINISHED =
	"rows are still being authenticated with the present key for rows: rotate it again when `svc keys status` lists no retired one";

/** Explains why the master key stays while another server could not go on under the next one. */
export const UNREADY =
	"another server of the database does not have the next master key: provide it to each as the credential next-master-key or in next_master_key_file (SVC_NEXT_MASTER_KEY_FILE), wait a few seconds, and try again; `svc nodes` shows which servers have it";

async function rewrapAll(
	{ keys, system }: RotationNeeds,
	from: DataKey,
	to: DataKey,
	event: AuditEvent,
): Promise<void> {
	for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		const rewrapped: { id: Buffer; wrapped: Buffer }[] = [];
		for (const row of await keys.all()) {
			const wrapped = rewrapKey(from, to, row, system.randomBytes);
			if (wrapped === undefined) throw await unopened(keys, from, row);
			rewrapped.push({ id: row.id, wrapped });
			if (rewrapped.length % KEYS_PER_TURN === 0) await setImmediate();
		}
		const input = { from: fingerprintOf(from), to: fingerprintOf(to), keys: rewrapped };
		const outcome = await keys.rewrap(input, event);
		if (outcome === "done") return;
		if (outcome === "unready") throw new AppError("conflict", UNREADY);
	}
	throw new AppError(
		"conflict",
		"the keyring kept changing while the master key was rotated: nothing was changed, try again",
	);
}

/** Makes the error for a key that the master key does not open. */
async function unopened(keys: KeyringNeeds["keys"], from: DataKey, row: KeyRow): Promise<Error> {
	if ((await keys.fingerprint()) !== fingerprintOf(from)) return new MasterKeyReplaced();
	return new Error(`key ${row.id.toString("hex")} cannot be opened with the master key`);
}

/**
 * Replaces the active key of a purpose, and of a realm when `realm_id` is not empty. Anything that the old key sealed stays readable forever.
 * @returns the new key's id
 * @throws AppError conflict when rows still need the key for rows before the present one
 * Design: §5.
 */
export async function rotateDataKey(
	{ keys, keyring }: { keys: KeyringNeeds["keys"]; keyring: Keyring },
	purpose: KeyPurpose,
	realm_id: string,
	event: AuditEvent,
): Promise<Buffer> {
	try {
		return await keyring.withNewKey(purpose, realm_id, async (key) => {
			if ((await keys.rotate({ key }, event)) === "unfinished") throw new AppError("conflict", UNFINISHED);
			return key.id;
		});
	} finally {
		if (realm_id === "") await keyring.reload();
		else keyring.forgetRealm(realm_id);
	}
}
