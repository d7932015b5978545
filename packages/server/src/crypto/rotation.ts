import { setImmediate } from "node:timers/promises";
import type { AuditEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { Keyring, KeyringNeeds } from "./keyring.ts";
import type { KeyPurpose } from "./keyring-model.ts";
import type { DataKey } from "./seal.ts";
import { fingerprintOf, masterFingerprint, rewrapKey } from "./wrap.ts";

/** Where the master key is kept, seen by its rotation: see master-key-file.ts. */
export interface MasterKeyHome {
	/** Puts the next key beside the present one, durably. */
	stage(next: Buffer): Promise<void>;
	/** Lets the staged key take the present one's place, or drops it: whichever leaves the key of this fingerprint. Nothing staged: nothing done. */
	settle(fingerprint: string): Promise<void>;
}

/** What a rotation of the master key needs. */
export interface RotationNeeds extends KeyringNeeds {
	keyring: Keyring;
	/** Undefined when the key comes from a credential or the environment: then the operator puts the next one there. */
	home: MasterKeyHome | undefined;
}

/** A purge may take keys away between the reading and the writing of them; as often as this in a row it does not. */
const MAX_ATTEMPTS = 10;
/** Keys that are re-wrapped in one turn of the event loop: about 5 ms. */
const KEYS_PER_TURN = 500;

/**
 * Wraps every key of the keyring under `next` while the server goes on working. The data itself is not touched.
 * It may be cut off at any point: the store changes in one transaction, and at the next start its fingerprint says which of the two files holds.
 * @param next 32 bytes
 * @returns the fingerprints of the key before and of this one
 * @throws AppError conflict when `next` is the key in use, or when keys come and go too fast
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
			// A transaction that failed may have been committed all the same: the store knows.
			await home?.settle((await keys.fingerprint()) ?? fingerprintOf(from));
		}
	});
	return changed;
}

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
			if (wrapped === undefined) throw new Error(`key ${row.id.toString("hex")} does not open under the master key`);
			rewrapped.push({ id: row.id, wrapped });
			if (rewrapped.length % KEYS_PER_TURN === 0) await setImmediate();
		}
		const input = { from: fingerprintOf(from), to: fingerprintOf(to), keys: rewrapped };
		if ((await keys.rewrap(input, event)) === "done") return;
	}
	throw new AppError(
		"conflict",
		"the keyring kept changing while the master key was rotated: nothing was changed, try again",
	);
}

/**
 * Replaces the active key of a purpose, and of a realm when `realm_id` is not empty. What the old key sealed stays readable for ever.
 * @returns the new key's id
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
			await keys.rotate({ key }, event);
			return key.id;
		});
	} finally {
		if (realm_id === "") await keyring.reload();
		else keyring.forgetRealm(realm_id);
	}
}
