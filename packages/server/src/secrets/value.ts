import type { Keyring } from "../crypto/keyring.ts";
import { type EncryptionContext, openPortable, openRecord, sealRecord } from "../crypto/seal.ts";
import { AppError } from "../errors.ts";
import { release } from "../release.ts";
import type { System } from "../system.ts";
import type { SecretVersion } from "./model.ts";

type Keys = Pick<Keyring, "record" | "recordFor" | "portableById">;
type Location = Pick<SecretVersion, "id" | "realm_id" | "environment" | "key" | "pre_encrypted">;

/** Names the row of a value: sealed for one, it opens for no other. The context includes whether the caller sealed it before. Design: §5 */
function valueContext(row: Location): EncryptionContext {
	return {
		label: row.pre_encrypted ? "secret_version.value pre_encrypted" : "secret_version.value",
		realm_id: row.realm_id,
		environment: row.environment,
		name: row.key,
		row_id: row.id,
	};
}

/** Seals a value for its row. */
export async function sealValue(
	needs: { keyring: Keys; system: Pick<System, "randomBytes"> },
	row: Location,
	value: string,
): Promise<Buffer> {
	const key = await needs.keyring.record(row.realm_id);
	const bytes = Buffer.from(value);
	const box = sealRecord(key, valueContext(row), bytes, needs.system.randomBytes);
	release(bytes);
	return box;
}

/** Milliseconds for which the readings of one cached row share an opening, a fifth of a reading's work. No plaintext is kept for longer. */
const SHARED_MS = 1000;

let opened: WeakMap<SecretVersion, string> | undefined;

function share(row: SecretVersion, text: string): void {
	if (opened === undefined) {
		opened = new WeakMap();
		setTimeout(() => {
			opened = undefined;
		}, SHARED_MS).unref();
	}
	opened.set(row, text);
}

/**
 * Opens a stored value as it was written.
 * @throws AppError internal_error when the row was altered, moved, or its key is gone
 */
export async function openStored(needs: { keyring: Keys }, row: SecretVersion): Promise<string> {
	const known = opened?.get(row);
	if (known !== undefined) return known;
	const found = needs.keyring.recordFor(row.realm_id, row.value);
	const key = found instanceof Promise ? await found : found;
	const bytes = key && openRecord(key, valueContext(row), row.value);
	if (bytes !== undefined) {
		const text = bytes.toString();
		release(bytes);
		share(row, text);
		return text;
	}
	const hint = "the database was altered or damaged; `svc doctor --deep` names all that do not open; restore a backup";
	throw new AppError("internal_error", `a stored value cannot be opened: ${hint}`);
}

/** Finds a value that another reading of the same cached row has opened; undefined when there is none. */
export function openedValue(row: SecretVersion): string | undefined {
	return row.pre_encrypted ? undefined : opened?.get(row);
}

/**
 * Opens a stored value for reading: opens text that the caller sealed with our portable key, too, or returns it as it is when it is
 * not ours.
 * @throws AppError internal_error as openStored
 */
export function openValue(needs: { keyring: Keys }, row: SecretVersion): Promise<string> {
	const stored = openStored(needs, row);
	if (!row.pre_encrypted) return stored;
	return stored.then((text) => openPortable(text, (id) => needs.keyring.portableById(id)) ?? text);
}
